"""Spare: `python -m engine.driver.spare DIRECTORY` is a driver that gets its run later.

It starts Java and Spark and warms them up, reports that it is ready, and waits for a line on its standard input with
the run. If its standard input closes first, it ends.
"""

from __future__ import annotations

import logging
import os
import queue
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Protocol

from pydantic import BaseModel, ConfigDict, Field

from engine.driver.control_plane_client import end_group
from engine.driver.main import Work, drive
from engine.jobs.processes import processes
from engine.jobs.processes.assignment import Assignment
from engine.jobs.processes.spares import LOCK, READY

_LOOK = 1.0
"""Seconds between two checks whether Java is alive."""


class SpareOrder(BaseModel):
    """Request that turns a spare into the driver of a run."""

    model_config = ConfigDict(frozen=True)

    assignment: Path
    log: Path
    environment: dict[str, str] = Field(repr=False)


class WarmWork(Work, Protocol):
    """Work that can be prepared before its run is known."""

    def warm_up(self, directory: Path) -> None:
        """Start what every run needs; what it writes goes into the directory."""

    def hurry(self) -> None:
        """Skip the rest of the warm-up, since there is a run. Safe from any thread, before and after."""

    def is_warm(self) -> bool:
        """Whether that is still there."""


def main(directory: Path, work: WarmWork) -> int:
    """Wait for a run, and drive it; 1 when what was warm is gone before one comes."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    lock = processes.try_lock(directory / LOCK)
    if lock is None:
        return 1
    orders = _listen(sys.stdin, work.hurry)
    work.warm_up(directory)
    (directory / READY).touch()
    while True:
        try:
            order = SpareOrder.model_validate_json(orders.get(timeout=_LOOK))
        except queue.Empty:
            if not work.is_warm():
                return 1
            continue
        _write_to(order.log)
        os.environ.update(order.environment)
        return drive(Assignment.read(order.assignment), work)


def _listen(lines: IO[str], hurry: Callable[[], None]) -> queue.SimpleQueue[str]:
    """Return the order, once it has come. While the process warms up, too, it ends when there will be none."""
    orders = queue.SimpleQueue[str]()

    def listen() -> None:
        line = lines.readline()
        if not line.endswith("\n"):
            end_group()
        orders.put(line)
        hurry()

    threading.Thread(target=listen, name="orders", daemon=True).start()
    return orders


def _write_to(log: Path) -> None:
    """Redirect this process's output to the log of its run."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(descriptor, stream.fileno())
    os.close(descriptor)


if __name__ == "__main__":
    from engine.driver.work import SparkWork

    sys.exit(main(Path(sys.argv[1]), SparkWork()))
