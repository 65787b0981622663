"""Drivers and readers as processes of their own, forked, so that a start costs milliseconds."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass

CRASHED = 70


@dataclass(slots=True)
class Child:
    """A forked process that says a byte for every step it makes."""

    pid: int
    reader: int
    code: int | None = None
    """How it ended: its exit code, or the signal that killed it as a negative number."""

    def steps(self, count: int, seconds: float) -> bool:
        """Wait until it has made so many more steps; False when it ended, or the time was over, before that."""
        until = time.monotonic() + seconds
        while count > 0:
            ready, _, _ = select.select([self.reader], [], [], max(0.0, until - time.monotonic()))
            steps = os.read(self.reader, count) if ready else b""
            if not steps:
                return False
            count -= len(steps)
        return True

    def ends(self, seconds: float) -> bool:
        """Wait for its end; whether it has ended."""
        until = time.monotonic() + seconds
        while self.code is None:
            seconds_left = until - time.monotonic()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._ended(status)
            elif seconds_left <= 0:
                return False
            else:
                handle = os.pidfd_open(self.pid)
                try:
                    select.select([handle], [], [], seconds_left)
                finally:
                    os.close(handle)
        return True

    def stands_still(self, seconds: float) -> bool:
        """Wait until it has been stopped; False when it ended, or the time was over, before that."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            if pid and os.WIFSTOPPED(status):
                return True
            if pid:
                self._ended(status)
                return False
            select.select([], [], [], 0.01)
        return False

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self.code is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it, as `kill -9` does, and wait until it is gone."""
        self.send(signal.SIGKILL)
        if self.code is None:
            _, status = os.waitpid(self.pid, 0)
            self._ended(status)

    def _ended(self, status: int) -> None:
        self.code = os.waitstatus_to_exitcode(status)
        os.close(self.reader)


def fork(run: Callable[[Callable[[], object]], int], log: str, **environment: str) -> Child:
    """Run a function in a process of its own: it is given what it calls after every step, and returns the exit code.
    What it prints goes to the log."""
    sys.stdout.flush()
    sys.stderr.flush()
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return Child(pid, reader)
    code = CRASHED
    try:
        os.close(reader)
        os.setpgid(0, 0)  # a stopped member of a group that loses its terminal is the end of all of them
        output = os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.environ.update(environment)
        with contextlib.suppress(BrokenPipeError):
            code = run(lambda: os.write(writer, b"."))
    except BaseException:  # noqa: BLE001 - the process must end here, whatever it was
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
