"""Fork server of drivers: `python -m engine.driver.forks DESCRIPTOR` does their imports once.

The descriptor is that of the connection to the control plane; the process ends when that closes, and its children
continue.

    control plane    assignment, log, environment
    fork server      forks; the child waits; {"pid": 812}
    control plane    {"go": 812}            the child continues like `python -m engine.driver.main run ASSIGNMENT`
    control plane    {"ended": 812}         answered with its exit code, once it has ended

A child that gets no `go` ends, so no driver works without the knowledge of the control plane.
"""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import random
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from engine.compile import compile_script
from engine.driver import main as driver
from engine.driver.handover import Line
from engine.driver.work import SparkWork
from engine.errors import EngineError
from engine.jobs.processes import processes
from engine.spark.jvm.session import import_what_spark_will
from engine.values.process_endings import SMALL_SCRIPT


class ForkOrder(BaseModel):
    """Request for a fork: the assignment, log and environment of a run."""

    model_config = ConfigDict(frozen=True)

    assignment: Path
    log: Path
    environment: dict[str, str] = Field(repr=False)

    def become(self, write_mark: Callable[[str], None]) -> None:
        """Turn this process, which leads a session already, into the driver."""
        write_mark(self.environment.get(processes.MARK, ""))
        os.environ.clear()
        os.environ.update(self.environment)
        descriptor = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
            os.dup2(descriptor, stream.fileno())
        os.close(descriptor)
        sys.argv = [driver.__file__, "run", str(self.assignment)]
        random.seed()
        with suppress(OSError):
            Path("/proc/self/comm").write_text("driver")


@dataclass(slots=True)
class Forks:
    """Forks drivers for the control plane, and reports their exit codes."""

    line: Line
    _ended: dict[int, int] = field(default_factory=dict)
    _waiting: dict[int, int] = field(default_factory=dict)
    """Children that wait for `go`, with the descriptor from which they read it."""

    def serve(self) -> ForkOrder | None:
        """Return in each child process, with its order; in this process only when the control plane has ended."""
        while (request := self.line.hear()) is not None:
            self._reap()
            match request:
                case {"go": int(pid)} if pid in self._waiting:
                    self._release(self._waiting.pop(pid), b"!")
                case {"ended": int(pid)}:
                    self.line.say({"code": self._ended.pop(pid, None)})
                case {"assignment": str()}:
                    if (order := self._fork(request)) is not None:
                        return order
        return None

    def _fork(self, request: Mapping[str, object]) -> ForkOrder | None:
        order = ForkOrder.model_validate(request)
        go_on, tell = os.pipe()
        child = os.fork()
        if child:
            os.close(go_on)
            self._waiting[child] = tell
            self.line.say({"pid": child})
            return None
        os.setsid()  # from now on it can be ended as any driver, even while the server is stopped
        self.line.close()
        for descriptor in (tell, *self._waiting.values()):
            os.close(descriptor)
        may_go_on = os.read(go_on, 1)
        os.close(go_on)
        if not may_go_on:
            os._exit(0)
        return order

    @staticmethod
    def _release(tell: int, word: bytes) -> None:
        with suppress(OSError):  # it has been killed meanwhile
            os.write(tell, word)
        os.close(tell)

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                self._ended[ended[0]] = os.waitstatus_to_exitcode(ended[1])


def place_of_mark() -> Callable[[str], None]:
    """Return a function that writes another mark into the environment that this process began with, as the kernel shows
    it to others."""
    library = ctypes.CDLL(None)
    library.getenv.restype = ctypes.c_void_p
    place, room = library.getenv(processes.MARK.encode()), len(os.environ[processes.MARK].encode())

    def write(mark: str) -> None:
        content = mark.encode()
        if place is None or len(content) > room:
            raise ValueError(mark)
        ctypes.memmove(place, content.ljust(room, b"\0"), room)

    return write


def import_the_rest() -> None:
    """Import the modules that drivers import later."""
    import_what_spark_will()
    with suppress(EngineError):
        compile_script(SMALL_SCRIPT)


def main(descriptor: int) -> int:
    """Fork drivers until the control plane has ended; in a fork, be a driver."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)
    write_mark = place_of_mark()
    import_the_rest()
    # what was there before the fork is never looked through for garbage, which would write into all of its pages
    gc.collect()
    gc.freeze()
    order = Forks(Line(socket.socket(fileno=descriptor))).serve()
    if order is None:
        return 0
    order.become(write_mark)
    return driver.main(["run", str(order.assignment)], SparkWork())


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
