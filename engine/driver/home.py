"""How a driver calls home: says hello, sends heartbeats from a thread of its own, obeys, says goodbye.

A control plane that does not answer hurts nobody: the driver runs on until its lease is over.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from engine.client import Client, Json, RefusedError, read_url
from engine.epoch_report import EpochReport, to_wire
from engine.errors import UnreachableError
from engine.jobs import processes
from engine.jobs.assignment import Assignment
from engine.jobs.status import Goodbye

LOG = logging.getLogger(__name__)
_CLOSEST = 0.2
"""Seconds between two calls at least: five a second tell an eager watcher enough."""
_TIMEOUT = 10.0
_PATIENCE = 15.0
"""Seconds to go on trying to say goodbye; a control plane that restarts is back within that time."""
_LAST_GRACE = 60.0
"""Seconds a driver whose lease is over has for its last epoch."""

StopMode = Literal["checkpoint", "immediate"]


@dataclass(slots=True)
class Home:
    """The line between one run and its control plane."""

    assignment: Assignment
    stop: Callable[[StopMode], None]
    """Makes the run end; may be called again and again."""
    end_at_once: Callable[[], None]
    """Ends this process and all it has started; does not return."""
    _reports: list[EpochReport] = field(default_factory=list)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _bell: threading.Event = field(default_factory=threading.Event)
    _state: str = "starting"
    _closing: bool = False
    _is_lost: bool = False
    _heard_at: float = field(default_factory=time.monotonic)
    _thread: threading.Thread | None = None

    def open(self) -> None:
        """Say hello, and begin to send heartbeats."""
        self._call("hello", {"nonce": self.assignment.key, "pid": os.getpid()})
        self._thread = threading.Thread(target=self._beat, name="heartbeats", daemon=True)
        self._thread.start()

    def started(self) -> None:
        """The query runs."""
        self._state = "running"
        self._bell.set()

    def report(self, epoch: EpochReport) -> None:
        """An epoch was committed; it is told as soon as may be, and never lost while this process lives."""
        with self._guard:
            self._reports.append(epoch)
        self.started()

    def call_now(self) -> None:
        """Do not wait for the next heartbeat's time."""
        self._bell.set()

    def close(self, goodbye: Goodbye) -> None:
        """Send what was not told yet, and the last word."""
        self._closing = True
        self._bell.set()
        if self._thread is not None:
            self._thread.join(timeout=_TIMEOUT + 1)
        failure = goodbye.failure
        error: Json = None
        if failure is not None:
            error = {"code": failure.code, "message": failure.message, "hint": failure.hint}
        is_over = time.monotonic() - self._heard_at > self.assignment.lease_seconds
        end = time.monotonic() + (0.0 if is_over else _PATIENCE)
        with self._guard:
            body: dict[str, Json] = {
                "outcome": goodbye.outcome,
                "error": error,
                "reports": [to_wire(report) for report in self._reports],
            }
        while not self._call("goodbye", body) and time.monotonic() < end:
            time.sleep(1.0)

    def _beat(self) -> None:
        interval = self.assignment.heartbeat_seconds
        while not self._closing:
            begun = time.monotonic()
            self._bell.clear()
            with self._guard:
                batch = list(self._reports)
            if self._call("heartbeat", {"state": self._state, "reports": [to_wire(report) for report in batch]}):
                with self._guard:
                    del self._reports[: len(batch)]
            self._check_lease()
            time.sleep(max(0.0, min(_CLOSEST, interval) - (time.monotonic() - begun)))
            self._bell.wait(interval)

    def _call(self, what: str, body: dict[str, Json]) -> bool:
        """One call home; whether it was heard. The address is read anew each time: it may have changed."""
        own = self.assignment
        url = read_url(own.server_file)
        if url is None:
            return False
        try:
            path = f"/runs/{own.job_id}/{own.generation}/{what}"
            answer = Client(url, own.key, _TIMEOUT).send("POST", path, body)
        except (UnreachableError, RefusedError) as lost:
            if not self._is_lost:
                LOG.warning("call home: %s: %s; running on", what, lost.message)
            self._is_lost = True
            return False
        if self._is_lost:
            LOG.info("call home: heard again")
        self._is_lost = False
        self._heard_at = time.monotonic()
        if isinstance(answer, dict):
            self._obey(answer)
        return True

    def _obey(self, answer: dict[str, Json]) -> None:
        if answer.get("superseded"):
            LOG.warning("a newer run has taken over; this one ends")
            self.end_at_once()
        listed = answer.get("orders")
        for order in listed if isinstance(listed, list) else []:
            if isinstance(order, dict) and order.get("kind") == "stop":
                self._state = "stopping" if self._state == "running" else self._state
                self.stop("immediate" if order.get("mode") == "immediate" else "checkpoint")

    def _check_lease(self) -> None:
        silence = time.monotonic() - self._heard_at
        if silence > self.assignment.lease_seconds + _LAST_GRACE:
            self.end_at_once()
        if silence > self.assignment.lease_seconds:
            self.stop("checkpoint")


def end_group() -> None:
    """End this process and, when it leads a group of its own, everything it has started."""
    if mark := os.environ.get(processes.MARK):
        processes.kill(pid for pid in processes.marked(mark) if pid != os.getpid())
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(4)
