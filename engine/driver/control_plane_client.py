"""Report from a driver to the control plane: hello, heartbeats from a thread of its own, commands in the responses,
goodbye.

A run of three epochs, with a control plane that is restarted in the middle:

    hello                  response: no commands
    heartbeat  running []
    heartbeat  running [epoch 0]
    heartbeat  running [epoch 1]         no response: epoch 1 is sent again
    heartbeat  running [epoch 1, 2]      response: stop after the current epoch
    goodbye    stopped []

If the control plane is down, the driver continues until its lease ends. Then it must end, since a control plane with
another data directory may have started its successor. A report that arrives twice is stored once.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import Any, Literal
from urllib.parse import urlsplit

from engine.checkpoints import late_batches
from engine.checkpoints.late_batches import LateBatch
from engine.checkpoints.layout import StatePaths
from engine.errors import EngineError
from engine.jobs.address import API_PREFIX, read_address
from engine.jobs.decisions.status import Goodbye
from engine.jobs.processes import processes
from engine.jobs.processes.assignment import Assignment
from engine.jobs.processes.left_by_drivers import WIRE, forget_goodbye, leave_goodbye
from engine.jobs.processes.process_usage import RunUsage, SharedJava, UsageMeter, together
from engine.values.epoch_report import EpochReport, to_wire
from engine.values.process_endings import start_none_any_more
from engine.values.start_positions import StartStep

LOG = logging.getLogger(__name__)
_CLOSEST = 0.2
"""Shortest interval of requests in seconds; five per second are enough for a live view."""
_TIMEOUT = 10.0
_PATIENCE = 15.0
"""Seconds of retrying a goodbye. A control plane that restarts is back in that time, and a later one reads the goodbye
from a file. If the control plane answers that it cannot store it now, for example because its disk is full, the driver
retries for as long as its lease."""
_PAUSE = 1.0
"""Seconds between two goodbyes."""
_DUMP_BEFORE = 0.8
"""Share of the limit after which the driver dumps its stacks, before the control plane kills it."""
_USAGE_INTERVAL = 10.0
"""Seconds between two measurements of the run's resource usage; each reads a few hundred small files of /proc."""
_LAST_GRACE = 60.0
"""Seconds for the last epoch of a driver whose lease has ended."""
_BECOMING = 0.1
"""Seconds after which a process that was just started has executed its program; until then it shows no environment."""
_ILL = 500
"""HTTP status from which on the control plane is at fault."""

StopMode = Literal["graceful", "checkpoint", "immediate"]


class RefusedCall(HTTPException):
    """The control plane refused a report."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"status {status}, {text}")
        self.status = status


@dataclass(slots=True)
class Home:
    """Connection from one run to its control plane."""

    assignment: Assignment
    stop: Callable[[StopMode], None]
    """Ends the run; may be called repeatedly."""
    end_at_once: Callable[[], None]
    """Ends this process and all its child processes; does not return."""
    dump_stacks: Callable[[], None] = lambda: None
    """Writes the stacks of this process; called once when its work makes no progress."""
    measure: Callable[[], RunUsage] = field(default_factory=lambda: UsageMeter().measure)
    """Measures the resource usage of the run."""
    _look_at_shared: Callable[[], SharedJava | None] = lambda: None
    """Measures the resource usage in a shared JVM."""
    _reports: list[EpochReport] = field(default_factory=list)
    """Reports that are not acknowledged."""
    _late: list[LateBatch] = field(default_factory=list)
    """Late rows of committed epochs that are not acknowledged."""
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _wakeup: threading.Event = field(default_factory=threading.Event)
    _state: str = "starting"
    _closing: bool = False
    _is_lost: bool = False
    """Whether the last request got no response, so that an outage is logged once."""
    _is_ill: bool = False
    """Whether the last response was a server error."""
    _answered_at: float = field(default_factory=time.monotonic)
    _signs: int = 0
    _signed_at: float = field(default_factory=time.monotonic)
    _step: StartStep | None = None
    _has_dumped: bool = False
    _ordered: str | None = None
    """The last stop command."""
    _measured_at: float | None = None
    _thread: threading.Thread | None = None

    def open(self) -> None:
        """Register with the control plane, and begin to send heartbeats. Late rows that the previous run had no time to
        report are reported first."""
        self._late += self._untold()
        self._call("hello", {"nonce": self.assignment.key, "pid": os.getpid(), "wire": WIRE})
        self._thread = threading.Thread(target=self._send_heartbeats, name="heartbeats", daemon=True)
        self._thread.start()

    def _untold(self) -> Sequence[LateBatch]:
        """Return the late rows that were not reported. If they cannot be read, return none: the run still registers,
        and its work reports the damage."""
        try:
            return late_batches.untold(StatePaths(self.assignment.state_dir))
        except (EngineError, OSError) as error:
            LOG.error("late rows of earlier epochs cannot be reported: %s", error)
            return ()

    def started(self) -> None:
        """Record that an epoch is committed, or that there is nothing to read."""
        self._state = "running"
        self.sign()
        self._wakeup.set()

    def sign(self, step: StartStep | None = None) -> None:
        """Record progress of the work, and the step that its start has reached, if that is new."""
        self._signs += 1
        self._signed_at = time.monotonic()
        if step is not None:
            self._step = step
            self._wakeup.set()

    def report(self, epoch: EpochReport) -> None:
        """Report a committed epoch, as soon as possible; it is never lost while this process lives."""
        with self._guard:
            self._reports.append(epoch)
            if epoch.late and epoch.lineage is not None:
                self._late.append(LateBatch(epoch.lineage, epoch.epoch, epoch.late))
        self.started()

    def share(self, look: Callable[[], SharedJava | None]) -> None:
        """Record that the run now uses a part of a shared JVM."""
        self._look_at_shared = look
        self._measured_at = None

    def call_now(self) -> None:
        """Send the next heartbeat immediately."""
        self._wakeup.set()

    def close(self, goodbye: Goodbye) -> None:
        """Send the remaining reports, and the exit message. If the control plane does not answer, the message is
        written to a file."""
        self._closing = True
        self._wakeup.set()
        if self._thread is not None:
            self._thread.join(timeout=_TIMEOUT + 1)
        failure = goodbye.failure
        error = None
        if failure is not None:
            error = {
                "code": failure.code,
                "message": failure.message,
                "hint": failure.hint,
                "cause": failure.cause.value,
            }
        # After the lease the control plane counts this run as lost, and its successor waits for the lock.
        is_over = time.monotonic() - self._answered_at > self.assignment.lease_seconds
        begin = time.monotonic()
        patience, long_patience = (0.0, 0.0) if is_over else (_PATIENCE, self.assignment.lease_seconds)
        with self._guard:
            body = {
                "outcome": goodbye.outcome,
                "error": error,
                "reports": [to_wire(report) for report in self._reports],
                "late": [asdict(batch) for batch in self._late],
            }
        lock, generation = self.assignment.lock, self.assignment.generation
        is_left = False
        while not self._call("goodbye", body):
            if not is_left:
                leave_goodbye(lock, generation, body)
                is_left = True
            if time.monotonic() - begin >= (long_patience if self._is_ill else patience):
                break
            time.sleep(_PAUSE)
        else:
            late_batches.forget(StatePaths(self.assignment.state_dir), self._late)
            if is_left:
                forget_goodbye(lock, generation)

    def _send_heartbeats(self) -> None:
        interval = self.assignment.heartbeat_seconds
        while not self._closing:
            begin = time.monotonic()
            # Cleared before the reports are read: one that comes in between rings for the next heartbeat.
            self._wakeup.clear()
            try:
                self._send_heartbeat(begin)
            except Exception:
                # without this thread a healthy run would be taken for dead
                LOG.exception("a heartbeat meets an error of its own; the next one is sent all the same")
            self._check_lease()
            time.sleep(max(0.0, min(_CLOSEST, interval) - (time.monotonic() - begin)))
            self._wakeup.wait(interval)

    def _send_heartbeat(self, now: float) -> None:
        with self._guard:
            batch, late = list(self._reports), list(self._late)
        self._look_for_signs()
        body = {
            "state": self._state,
            "reports": [to_wire(report) for report in batch],
            "late": [asdict(each) for each in late],
            "signs": self._signs,
            "step": self._step,
            "wire": WIRE,
            **self._usage(now),
        }
        if self._call("heartbeat", body):
            with self._guard:
                del self._reports[: len(batch)], self._late[: len(late)]
            late_batches.forget(StatePaths(self.assignment.state_dir), late)

    def _usage(self, now: float) -> dict[str, object]:
        """Return the resource use of the run; empty if it was measured a short time ago."""
        if self._measured_at is not None and now - self._measured_at < _USAGE_INTERVAL:
            return {"usage": None}
        self._measured_at = now
        own, shared = self.measure(), self._look_at_shared()
        usage = own if shared is None else together(own, shared.usage)
        told: dict[str, object] = {"usage": {role: asdict(part) for role, part in usage.items()}}
        return told if shared is None else {**told, "shared_java": shared.model_dump(include={"pid", "drivers"})}

    def _look_for_signs(self) -> None:
        """Write the stacks of this process to the log before the control plane ends the run for lack of progress."""
        is_working = self._state == "running" or self._step is StartStep.FIRST_EPOCH
        stillness = time.monotonic() - self._signed_at
        if is_working and not self._has_dumped and stillness > self.assignment.stuck_seconds * _DUMP_BEFORE:
            self._has_dumped = True
            LOG.error("the work has made no progress for %.0f s; these are the stacks of this process", stillness)
            self.dump_stacks()

    def _call(self, word: str, body: Mapping[str, Any]) -> bool:
        """Send one report; return whether it was answered. The address is read each time: it may have changed."""
        assignment = self.assignment
        url = read_address(assignment.server_file)
        if url is None:
            return False
        path = f"{API_PREFIX}/runs/{assignment.job_id}/{assignment.generation}/{word}"
        try:
            answer = _post(url, path, assignment.key, body)
        except (OSError, HTTPException, ValueError) as error:
            if not self._is_lost:
                LOG.warning("report: the control plane does not accept the %s: %s; the run continues", word, error)
            self._is_lost = True
            self._is_ill = isinstance(error, RefusedCall) and error.status >= _ILL
            if isinstance(error, RefusedCall) and error.status == HTTPStatus.SERVICE_UNAVAILABLE:
                self._answered_at = time.monotonic()  # it is there, and only has no room to write down what it hears
            return False
        self._is_ill = False
        if self._is_lost:
            LOG.info("report: the control plane responds again")
        self._is_lost = False
        self._answered_at = time.monotonic()
        if isinstance(answer, dict):
            self._obey(answer)
        return True

    def _obey(self, answer: Mapping[str, Any]) -> None:
        if answer.get("superseded"):
            LOG.warning("a newer run has taken over; this one ends")
            self.end_at_once()
        for order in answer.get("orders", ()):
            # A control plane that is newer may give orders that this driver does not know.
            if order.get("kind") == "stop":
                self._state = "stopping" if self._state == "running" else self._state
                self._note_order(str(order.get("mode")))
                self.stop(_stop_mode(order.get("mode")))

    def _note_order(self, mode: str) -> None:
        """Log a command to stop. Commands are repeated until they are obeyed, and each is logged once."""
        if mode != self._ordered:
            LOG.info("the control plane has the run stop (%s)", mode)
        self._ordered = mode

    def _check_lease(self) -> None:
        silence = time.monotonic() - self._answered_at
        if silence > self.assignment.lease_seconds + _LAST_GRACE:
            self.end_at_once()
        if silence > self.assignment.lease_seconds:
            self.stop("checkpoint")


def _stop_mode(mode: object) -> StopMode:
    """Return the mode of a command; an unknown one ends the driver after the current epoch."""
    match mode:
        case "graceful" | "immediate":
            return mode
    return "checkpoint"


def end_group() -> None:
    """End this process and, if it leads a group of its own, all its child processes."""
    start_none_any_more()
    if mark := os.environ.get(processes.MARK):
        time.sleep(_BECOMING)
        processes.kill(pid for pid in processes.marked(mark) if pid != os.getpid())
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(4)


def _post(url: str, path: str, key: str, body: Mapping[str, Any]) -> object:
    """Return the JSON of the answer. Requests are few and stay on this machine, so the standard library suffices, which
    is imported already: a larger client would make every driver start a tenth of a second later."""
    address = urlsplit(url)
    connection = HTTPConnection(address.hostname or "", address.port, timeout=_TIMEOUT)
    try:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        connection.request("POST", path, json.dumps(body), headers)
        answer = connection.getresponse()
        content = answer.read()
    finally:
        connection.close()
    if answer.status >= 400:
        raise RefusedCall(answer.status, content[:1000].decode(errors="replace"))
    return json.loads(content)
