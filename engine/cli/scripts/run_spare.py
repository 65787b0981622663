"""Spare process of `arroyo run --warm`: `python -m engine.cli.scripts.run_spare DIRECTORY`.

It has Java and Spark running and warm, and waits ten minutes for a run in the same environment. It does the work of
that run, with the run's output, and then ends.
"""

from __future__ import annotations

import io
import os
import queue
import secrets
import shutil
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TypeAlias

from engine.cli.main import answer_errors
from engine.cli.scripts.run import until_end
from engine.cli.scripts.warm import read_order
from engine.driver.control_plane_client import end_group
from engine.driver.handover import LOCK, SOCKET, TOKEN, Line, admit, digest_of_surroundings, is_private, listen
from engine.jobs.processes import processes
from engine.jobs.processes.processes import free_memory
from engine.spark.run.stop_control import Control
from engine.spark.run.warm_session import WarmSession

LIFETIME = 600.0
"""Seconds that a spare waits."""
LEAST_MEMORY = 2**29
"""Available memory below which the spare ends, before the kernel kills a process."""
_LOOK = 1.0
_TakenOrder: TypeAlias = tuple[Line, str, list[int]]
"""A connection, the request that arrived over it, and its output."""
_OUTPUTS = (1, 2)
"""Standard output and standard error."""


@dataclass(frozen=True, slots=True)
class WarmProcess:
    """Work of a spare; tests replace it by a fake."""

    warm_up: Callable[[Path], None]
    hurry: Callable[[], None]
    is_warm: Callable[[], bool]
    run: Callable[[str], int]
    """Runs a request and returns the exit code."""


@dataclass(slots=True)
class RunSpare:
    """One spare, from its start to the end of its run."""

    directory: Path
    work: WarmProcess
    lifetime: float = LIFETIME
    clock: Callable[[], float] = time.monotonic
    memory: Callable[[], int] = free_memory
    end: Callable[[], None] = end_group
    _orders: queue.SimpleQueue[_TakenOrder] = field(default_factory=queue.SimpleQueue)
    _is_ready: threading.Event = field(default_factory=threading.Event)
    _home: Path = field(init=False)

    def __post_init__(self) -> None:
        self._home = self.directory / secrets.token_hex(8)

    def serve(self) -> int:
        """Wait for a run, and do its work; return its exit code, or 1 if there is a spare already."""
        surroundings = digest_of_surroundings(os.environ)
        lock = processes.try_lock(self.directory / LOCK)
        if lock is None or not is_private(self.directory):
            return 1
        _say_who(lock)
        _remove_leavings(self.directory)
        self._home.mkdir()
        home_lock = processes.try_lock(self._home / LOCK)
        listener, token = listen(self.directory)
        threading.Thread(
            target=self._wait, args=(listener, token, surroundings, lock), name="caller", daemon=True
        ).start()
        self.work.warm_up(self._home)
        self._is_ready.set()
        line, order, outputs = self._orders.get()
        _write_to(outputs)
        code = _code_of(self.work.run, order)
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        line.say({"exit": code})
        if home_lock is not None:
            home_lock.close()
        shutil.rmtree(self._home, ignore_errors=True)
        return code

    def _wait(self, listener: socket.socket, token: str, surroundings: str, lock: IO[str]) -> None:
        """Accept one order, and end when its run has ended; without one, end when the spare is no longer useful."""
        order = self._order(listener, token, surroundings)
        listener.close()
        for name in (SOCKET, TOKEN):
            (self.directory / name).unlink(missing_ok=True)
        if order is None:
            self._leave()
            return
        lock.close()
        self.work.hurry()
        self._orders.put(order)
        self._obey(order[0])

    def _order(self, listener: socket.socket, token: str, surroundings: str) -> _TakenOrder | None:
        last = self.clock() + self.lifetime
        listener.settimeout(_LOOK)
        while True:
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                if self.clock() > last or not self._is_useful():
                    return None
                continue
            line = admit(connection, token, surroundings)
            if line is None:
                connection.close()
                return None
            order, outputs = _order_of(line)
            if order is not None:
                connection.settimeout(None)
                return line, order, outputs
            connection.close()

    def _is_useful(self) -> bool:
        """Whether the spare is warm or about to be, takes no memory that others need, and can be found."""
        is_alive = not self._is_ready.is_set() or self.work.is_warm()
        return is_alive and self.memory() >= LEAST_MEMORY and (self.directory / TOKEN).exists()

    def _obey(self, line: Line) -> None:
        """Handle the signals that the run receives and forwards to this process; end when the run ends."""
        while True:
            try:
                content = line.hear()
            except (OSError, ValueError):
                content = None
            if content is None:
                self._leave()
                return
            os.kill(os.getpid(), int(str(content["signal"])))

    def _leave(self) -> None:
        shutil.rmtree(self._home, ignore_errors=True)
        self.end()


def _order_of(line: Line) -> tuple[str | None, list[int]]:
    """Return an order, and the target of its output; None if the caller has cancelled it."""
    outputs: list[int] = []
    with suppress(OSError, ValueError):
        content, outputs = line.hear_with_outputs()
        if content is not None and len(outputs) == len(_OUTPUTS):
            return str(content["order"]), outputs
    for descriptor in outputs:
        os.close(descriptor)
    return None, []


def _code_of(run: Callable[[str], int], order: str) -> int:
    """Return the exit code, like the interpreter."""
    try:
        return run(order)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 1
    except Exception:  # noqa: BLE001 - the top of a process
        traceback.print_exc()
        return 1


def _write_to(outputs: list[int]) -> None:
    """Redirect this process's output to that of the run."""
    for descriptor, place in zip(outputs, _OUTPUTS, strict=True):
        os.dup2(descriptor, place)
        os.close(descriptor)
    out, err = sys.stdout, sys.stderr
    is_terminal = os.isatty(1)
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(1, "w", closefd=False)),
        encoding=out.encoding,
        errors=out.errors,
        line_buffering=is_terminal,
    )
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(2, "w", closefd=False)),
        encoding=err.encoding,
        errors=err.errors,
        line_buffering=True,
    )


def _say_who(lock: IO[str]) -> None:
    """Record the owner in the lock file."""
    lock.seek(0)
    lock.truncate()
    lock.write(str(os.getpid()))
    lock.flush()


def _remove_leavings(directory: Path) -> None:
    """Remove the files of spares that were killed."""
    for home in directory.iterdir():
        if home.is_dir() and not home.is_symlink() and not processes.is_locked(home / LOCK):
            shutil.rmtree(home, ignore_errors=True)


def main(directory: Path) -> int:
    """Return a spare with Spark."""
    return RunSpare(directory, _spark_process()).serve()


def _spark_process() -> WarmProcess:
    sessions: list[WarmSession] = []
    warming = Control()

    def work(order: str) -> int:
        spec, as_json = read_order(order)
        return answer_errors(lambda: until_end(spec, as_json=as_json, warm=sessions[0].take_over))

    return WarmProcess(
        lambda directory: sessions.append(WarmSession.open(directory, warming)),
        lambda: warming.stop("immediate"),
        lambda: sessions[0].is_alive,
        work,
    )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
