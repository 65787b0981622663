"""A driver's registration at a host: it finds one by the properties that its drivers share and connects to it, or
starts one.

hosts/3f9a0c51d2e47b86/    for 2 GiB, all processors of the machine, and one environment
  start                    lock while a driver looks for a host, and starts one
  socket                   where it listens
  host.log, spark.log      its logs

A lock on the start ensures that two drivers that come at once find one host. Connected drivers wait while Java
starts.
"""

from __future__ import annotations

import hashlib
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from engine import errors
from engine.driver.handover import SOCKET, Line, digest_of_surroundings, is_private, short_path
from engine.errors import EngineError, SharedJavaDiedError
from engine.jobs.processes import processes
from engine.jobs.processes.left_by_drivers import Birth, end_now
from engine.jobs.processes.process_usage import SharedJava
from engine.jobs.processes.processes import log_tail
from engine.spark.jvm.session import Session, join_session, leave_session
from engine.values.secret_references import SECRET_PREFIX

START, LOG = "start", "host.log"
DRAINED: Mapping[str, object] = {"is": "seen off"}
"""The host's final message to a driver: no work of it is left."""


@dataclass(frozen=True, slots=True)
class JavaWish:
    """Properties that all drivers in one JVM share."""

    memory: str
    master: str
    is_quick: bool = False

    @staticmethod
    def of(memory: str, master: str | None, *, is_quick: bool) -> JavaWish:
        """Return the JVM that a pipeline with these settings needs; all run their tasks on all processors."""
        return JavaWish(memory, master or f"local[{len(os.sched_getaffinity(0))}]", is_quick)


def host_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the part of a driver's environment that belongs to no pipeline."""
    return {
        name: text
        for name, text in environ.items()
        if name != processes.MARK and not name.startswith((SECRET_PREFIX, "PYSPARK_"))
    }


def host_directory(hosts: Path, wish: JavaWish, environment: Mapping[str, str]) -> Path:
    """Return the directory of the host for drivers that want this, and have this environment. Its name is the host's
    on the whole machine, where another control plane may have drivers that want the same."""
    text = f"{hosts.resolve()} {wish} {digest_of_surroundings(environment)}"
    return hosts / hashlib.sha256(text.encode()).hexdigest()[:16]


def host_mark(directory: Path) -> str:
    """Return the environment mark of a host and all of its processes."""
    return f"host/{directory.name}"


def make_private(directory: Path) -> None:
    """Create the directory, which only this user can enter."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    directory.mkdir(mode=0o700, exist_ok=True)
    if not is_private(directory):
        raise SharedJavaDiedError(
            f"{directory} can be entered by others", hint="delete it, or make it private with chmod 700"
        )


HOST_COMMAND = (sys.executable, "-m", "engine.driver.shared.host")
_START_PATIENCE = 120.0
"""Seconds to wait for other drivers that look for the host, and for the host to listen."""
_LOOK = 0.05
_WORKERS = "SPARK_WORKERS_OF"
"""Prefix of worker environment variables. Spark only reuses a worker for sessions with the same worker environment."""
_USAGE_PATIENCE = 5.0
_CALLS = 3
"""Number of attempts: a host that was about to end may close the connection."""


@dataclass(slots=True)
class JvmLease:
    """A driver's registration at a host. `name` is unique among all drivers, past and present."""

    directory: Path
    wish: JavaWish
    environment: Mapping[str, str] = field(repr=False)
    name: str
    lock: IO[str] = field(repr=False)
    has_functions: bool = False
    """Whether user-defined functions run in Spark's workers; then it has workers of its own."""
    _line: Line | None = None
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _java: Birth = (0, None)
    _has_left: bool = False
    _is_seen_off: bool = False
    """Whether the host has confirmed that no work of this driver is left."""
    _asked: int = 0

    def move_in(self, log_dir: Path) -> Session:
        """Return a session of this process's own in Java of the host, for a run whose logs are kept there."""
        log_dir.mkdir(parents=True, exist_ok=True)
        line, answer = self._received(log_dir / "spark.log")
        self._line = line
        self._java = _birth(int(str(answer["java"])))
        threading.Thread(target=self._watch_host, args=(line.connection,), name="host", daemon=True).start()
        workers = {_WORKERS: self.name} if self.has_functions else {}
        return join_session(int(str(answer["port"])), str(answer["secret"]), str(answer["python"]), self, workers)

    def _received(self, log: Path) -> tuple[Line, Mapping[str, object]]:
        for _ in range(_CALLS):
            line = call_host(self.directory, self.wish, self.environment)
            with suppress(OSError):
                lodge = {"lodge": self.name, "log": str(log), "lock": str(self.lock.name)}
                line.say(lodge, (self.lock.fileno(),))
                if (answer := line.hear()) is not None:
                    if "code" in answer:
                        line.close()
                        raise _error_of(answer)
                    return line, answer
            line.close()
        raise SharedJavaDiedError(
            f"the process that has the Java of several pipelines does not let this one in: {_said(self.directory)}",
            hint=f"its log is in {self.directory}",
        )

    @property
    def is_alive(self) -> bool:
        """Whether the host has not hung up."""
        if self._line is None:
            return False
        try:
            return not _hang_up(self._line.connection).poll(0)
        except (OSError, ValueError):  # this process has hung up itself
            return False

    def death(self) -> EngineError | None:
        """Return why the host's JVM has died; None if it lives."""
        answer = self._ask("java")
        if answer is None:
            return SharedJavaDiedError(
                "the process has ended that has the Java of this pipeline and of others",
                hint=f"nothing is lost; its log is in {self.directory}",
            )
        if "died" not in answer:
            return None
        hint = answer.get("hint")
        return SharedJavaDiedError(
            f"Java, which this pipeline shares with others, has ended: {answer['died']}",
            hint=None if hint is None else str(hint),
        )

    def leave(self) -> None:
        """End all that this process has under way there; where the host cannot any more, with Java: this process holds
        the lock, and must not let go of it before."""
        if not self._has_left:
            self._has_left = True
            if self._ask("leave") is None:
                self._end_java()

    def close(self) -> None:
        """Hang up."""
        if self._line is not None:
            self.leave()
            leave_session()
            self._line.close()

    def look(self) -> SharedJava | None:
        """Return this driver's share of the host's JVM; None if the host does not answer, or is busy."""
        if self._line is None or not self._guard.acquire(blocking=False):
            return None
        try:
            answer = self._answer(self._line, "usage", _USAGE_PATIENCE)
            if answer is None or "usage" not in answer:
                return None
            return SharedJava.model_validate({**answer, "pid": self._java[0]})
        finally:
            self._guard.release()

    def _watch_host(self, connection: socket.socket) -> None:
        """End the JVM once its host was killed: it would end by itself, but slowly, and continue all queries
        meanwhile."""
        _hang_up(connection).poll()
        if not self._has_left:
            self._ask("java")  # what the host has said before
            self._end_java()

    def _end_java(self) -> None:
        """End Java of a host that has hung up without a word: it was killed, and a process that ends hangs up before it
        is gone. One that lives and hangs up has seen this driver off before, and says so."""
        if not self._is_seen_off:
            end_now([self._java])

    def _ask(self, question: str) -> Mapping[str, object] | None:
        """Return the answer of the host; None when it has hung up."""
        if self._line is None:
            return None
        with self._guard:
            return self._answer(self._line, question, None)

    def _answer(self, line: Line, question: str, patience: float | None) -> Mapping[str, object] | None:
        self._asked += 1
        with suppress(OSError):  # it may have said a last word before it hung up
            line.connection.settimeout(patience)
            line.say({"ask": question, "number": self._asked})
        with suppress(OSError, ValueError):
            return self._heard(line)
        return None

    def _heard(self, line: Line) -> Mapping[str, object] | None:
        """Return the answer to the last question; skip late answers to earlier ones."""
        while (answer := line.hear()) is not None and answer.get("number") != self._asked:
            self._is_seen_off |= answer == DRAINED
        return answer


@contextmanager
def leased_jvm(place: JvmLease) -> Iterator[JvmLease]:
    """Leave it in the end, whatever happens."""
    try:
        yield place
    finally:
        place.close()


def call_host(directory: Path, wish: JavaWish, environment: Mapping[str, str]) -> Line:
    """Return the line to the host of a directory, which is started where there is none."""
    make_private(directory)
    end = time.monotonic() + _START_PATIENCE
    while (start := processes.try_lock(directory / START)) is None:
        if time.monotonic() > end:
            raise SharedJavaDiedError(
                "another pipeline starts the Java that both would share, and does not finish",
                hint=f"see which process holds {directory / START}",
            )
        time.sleep(_LOOK)
    with start:
        if (line := _call(directory)) is not None:
            return line
        if (directory / SOCKET).exists():
            _end_remains(directory)
        _start_host(directory, wish, environment)
        if (line := _call(directory)) is not None:
            return line
    raise SharedJavaDiedError(
        f"the process does not start that would have the Java of several pipelines: {_said(directory)}",
        hint=f"its log is in {directory / LOG}",
    )


def _birth(pid: int) -> Birth:
    return pid, processes.born(pid)


def _hang_up(connection: socket.socket) -> select.poll:
    """Return a poll object that detects when the other end has hung up, whatever it has sent before."""
    poll = select.poll()
    poll.register(connection, select.POLLRDHUP)
    return poll


def _end_remains(directory: Path) -> None:
    """See a host off that was killed: its Java may still be at work for a moment. One that ends by itself takes its
    socket away before."""
    end_now([_birth(pid) for pid in processes.marked(host_mark(directory))])


def _call(directory: Path) -> Line | None:
    """Return the line to a host; None where nobody listens. What else goes wrong says nothing of the host, which may be
    serving others. One that comes to nobody who has called, as when it is stopped, is not waited for without end."""
    end = time.monotonic() + _START_PATIENCE
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.setblocking(False)  # else it waits for a place in the queue, for ever
            with short_path(directory) as path:
                connection.connect(path)
            connection.setblocking(True)
            return Line(connection)
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
            return None
        except BlockingIOError:
            connection.close()
            if time.monotonic() > end:
                raise SharedJavaDiedError(
                    "the host of the shared JVM accepts no pipeline",
                    hint=f"it may be stopped; see the processes with {processes.MARK}={host_mark(directory)}",
                ) from None
            time.sleep(_LOOK)
        except OSError:
            connection.close()
            raise


def _start_host(directory: Path, wish: JavaWish, environment: Mapping[str, str]) -> None:
    """Have a host that listens, when this returns; it is no child of this process."""
    with (directory / LOG).open("ab") as output:
        started = subprocess.Popen(
            [*HOST_COMMAND, str(directory), wish.memory, wish.master, "quick" if wish.is_quick else "whole"],
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**environment, processes.MARK: host_mark(directory)},
        )  # fmt: skip
    try:
        started.wait(_START_PATIENCE)
    except subprocess.TimeoutExpired:
        started.kill()
        started.wait()


def _said(directory: Path) -> str:
    return log_tail(directory / LOG)[-500:] or "it said nothing"


def _error_of(answer: Mapping[str, object]) -> EngineError:
    """Return the error that a host has met when it started Java."""
    kinds = (kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, EngineError))
    kind = next((kind for kind in kinds if kind.code == answer["code"]), SharedJavaDiedError)
    hint = answer.get("hint")
    return kind(str(answer["message"]), hint=None if hint is None else str(hint))
