"""Start drivers as forks of one process that has done their imports.

A driver with a shared JVM needs little memory besides its imports. Forks share those.

    the first such run is launched       the server is started, and does the imports
    each of them                         server: forks, reports the pid; control plane: confirms
    the control plane ends               the server ends; drivers continue, known by pid and mark like others

See `engine/driver/forks.py` for the other side. A server that does not respond is killed, because a late response could
be taken for the next one. Drivers that cannot be forked are started as usual.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from engine.jobs.processes import processes

LOG = logging.getLogger(__name__)
FORKS_COMMAND = (sys.executable, "-m", "engine.driver.forks")
ROOM_FOR_MARK = 200
"""Space in the server's environment for the mark of a fork, since the kernel shows the initial environment of a
process."""
_PATIENCE = 30.0
"""Timeout of the first fork: the server has to do its imports, perhaps on a busy machine."""
_PATIENCE_ONCE_UP = 10.0
"""Timeout of later forks: the server has nothing else to do, and the caller serves all pipelines."""
_REST = 600.0
"""Seconds before the next attempt after a server has failed."""


@dataclass(frozen=True, slots=True)
class ForkedDriver:
    """A driver that is a child of the server."""

    pid: int
    server: ForkServer

    def poll(self) -> int | None:
        """Return the exit code as `subprocess` does; None while the process runs, or if its exit code is lost."""
        return self.server.ending(self.pid)


@dataclass(slots=True)
class ForkServer:
    """A running server, with its connection."""

    process: subprocess.Popen[bytes] = field(repr=False)
    connection: socket.socket = field(repr=False)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _rest: bytes = b""

    def fork(self, assignment: Path, log: Path, environment: Mapping[str, str]) -> ForkedDriver:
        """Return the driver of a run; raise OSError or ValueError if it was not and will not be started."""
        with self._guard:
            order = {"assignment": str(assignment), "log": str(log), "environment": dict(environment)}
            pid = self._ask(order)["pid"]
            if not isinstance(pid, int):
                raise ValueError(pid)
            self._say({"go": pid})
        return ForkedDriver(pid, self)

    def ending(self, pid: int) -> int | None:
        """Return the exit code of a child process."""
        with self._guard, suppress(OSError, ValueError):
            code = self._ask({"ended": pid})["code"]
            return code if isinstance(code, int) else None
        return None

    def close(self) -> None:
        """End the server; its child processes live on."""
        self.connection.close()

    def end(self) -> None:
        """Kill the server."""
        self.close()
        self.process.kill()
        self.process.wait()

    def _ask(self, question: Mapping[str, object]) -> Mapping[str, object]:
        """Return the answer; without one, kill the server."""
        try:
            answer = self._answer(question)
        except (OSError, ValueError):
            self.end()
            raise
        self.connection.settimeout(_PATIENCE_ONCE_UP)
        return answer

    def _answer(self, question: Mapping[str, object]) -> Mapping[str, object]:
        self._say(question)
        while b"\n" not in self._rest:
            if not (block := self.connection.recv(65536)):
                raise ConnectionResetError
            self._rest += block
        line, _, self._rest = self._rest.partition(b"\n")
        answer = json.loads(line)
        if not isinstance(answer, dict):
            raise ValueError(answer)
        return answer

    def _say(self, content: Mapping[str, object]) -> None:
        self.connection.sendall(json.dumps(content).encode() + b"\n")


@dataclass(slots=True)
class ForkedDrivers:
    """Starts the server when it is needed."""

    log: Path
    """Output of the server itself."""
    environment: Callable[[], Mapping[str, str]]
    """Inherited variables of drivers, without those of a pipeline."""
    command: Sequence[str] = FORKS_COMMAND
    clock: Callable[[], float] = time.monotonic
    _server: ForkServer | None = None
    _failed_at: float | None = None

    def fork(self, assignment: Path, log: Path, environment: Mapping[str, str]) -> ForkedDriver | None:
        """Return a driver that is a fork; None if it has to be started otherwise."""
        if len(environment.get(processes.MARK, "").encode()) > ROOM_FOR_MARK:
            return None
        if self._failed_at is not None and self.clock() - self._failed_at < _REST:
            return None
        try:
            if self._server is None or self._server.process.poll() is not None:
                self.close()
                self._server = self._start()
            return self._server.fork(assignment, log, environment)
        except (OSError, ValueError) as error:
            LOG.warning("drivers cannot be forked now, and are started as new processes: %r; see %s", error, self.log)
            self._failed_at = self.clock()
            if self._server is not None:
                self._server.end()
                self._server = None
            return None

    def close(self) -> None:
        """End the server; drivers live on."""
        if self._server is not None:
            self._server.close()

    def _start(self) -> ForkServer:
        ours, of_server = socket.socketpair()
        with of_server, self.log.open("ab") as output:
            try:
                process = subprocess.Popen(
                    [*self.command, str(of_server.fileno())],
                    stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                    pass_fds=(of_server.fileno(),),
                    start_new_session=True,
                    # one thread, since the others would not be there in a fork
                    env={**self.environment(), "OMP_NUM_THREADS": "1", processes.MARK: room_for_mark()},
                )  # fmt: skip
            except OSError:
                ours.close()
                raise
        ours.settimeout(_PATIENCE)
        return ForkServer(process, ours)


def room_for_mark() -> str:
    """Return the mark of a server, which is as long as that of a fork may be."""
    return f"forks/{os.getpid()}/".ljust(ROOM_FOR_MARK, "-")
