"""A control plane of a benchmark's own, of which nothing is left in the end, however the benchmark ends.

A shell that starts a program in the background has it ignore Ctrl-C, and SIGTERM would end it on the spot: both are
answered here, by an exception, so that what the benchmark has started is ended first.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from engine.cli.base import Client, RefusedError
from engine.errors import UnreachableError
from engine.jobs.processes import processes

MARK = "ARROYO_BENCHMARK"
"""The control plane has it in its environment, all drivers inherit it, and all that they start."""
_LOOK = 0.05
_PATIENCE = 60.0
_ENDS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def served(data: Path, token: str, spares: int = 0) -> Iterator[Client]:
    """A control plane over a data directory, which keeps so many spare drivers; in the end it is gone, and everything
    that it has started."""
    command = [sys.executable, "-m", "engine", "serve", "--port", "0", "--data-dir", str(data)]
    environment = {**os.environ, "ARROYO__PIPELINE__SPARE_DRIVERS": str(spares), MARK: token}
    data.mkdir(parents=True, exist_ok=True)
    server: subprocess.Popen[bytes] | None = None
    with ended_by_signals():
        try:
            with (data / "server.log").open("wb") as log:
                server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            yield _answering(server, data)
        finally:
            end_all(token)
            if server is not None:
                server.wait()


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Leave the block when the process is to end; asked once, it is not asked again while what was started is ended."""

    def leave(number: int, _: FrameType | None) -> None:
        for each in _ENDS:
            signal.signal(each, signal.SIG_IGN)
        raise SystemExit(128 + number)

    before = [(each, signal.signal(each, leave)) for each in _ENDS]
    try:
        yield
    finally:
        for each, answer in before:
            signal.signal(each, answer)


def marked(token: str) -> list[int]:
    """The processes that have it in their environment. Those that have ended, and nobody waits for, have none."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and f"{MARK}={token}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def end_all(token: str) -> None:
    """End them, and what they start meanwhile."""
    while left := marked(token):
        processes.kill(left)
        time.sleep(_LOOK)


def _answering(server: subprocess.Popen[bytes], data: Path) -> Client:
    end = time.monotonic() + _PATIENCE
    while server.poll() is None and time.monotonic() < end:
        with suppress(OSError, ValueError, RefusedError, UnreachableError):
            client = Client(json.loads((data / "server.json").read_text())["url"], (data / "token").read_text().strip())
            client.get("/ping")
            return client
        time.sleep(_LOOK)
    raise SystemExit((data / "server.log").read_text() or "the control plane does not answer")
