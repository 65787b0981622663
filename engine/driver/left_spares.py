"""Spare process of an earlier run: whether one is waiting, and how to end it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from engine.driver.handover import LOCK, TOKEN, is_private
from engine.jobs.processes import processes

_LOOK = 0.05
_PATIENCE = 10.0
"""Seconds for a spare to notice that its token is gone: it checks once per second."""


@dataclass(frozen=True, slots=True)
class LeftSpare:
    """A waiting spare; `pid` is None if an earlier version has started it."""

    pid: int | None
    since: datetime


def find_spare(directory: Path) -> LeftSpare | None:
    """Return the spare that waits for a run; one that has a run does not count."""
    lock = directory / LOCK
    if not is_private(directory) or not processes.is_locked(lock):
        return None
    try:
        text, since = lock.read_text(), datetime.fromtimestamp(lock.stat().st_mtime, UTC)
    except OSError:
        return None
    return LeftSpare(int(text) if text.isdigit() else None, since)


def end_spare(directory: Path, clock: Callable[[], float] = time.monotonic) -> LeftSpare | None:
    """End the spare that waits, and wait until it has ended; return which it was. One that does not react is killed."""
    spare = find_spare(directory)
    if spare is None:
        return None
    give_up = clock() + _PATIENCE
    while processes.is_locked(directory / LOCK):
        # again and again: one that is just starting writes its token down later
        with suppress(OSError):
            (directory / TOKEN).unlink(missing_ok=True)
        if clock() > give_up and spare.pid is not None:
            processes.kill_group(spare.pid)
        time.sleep(_LOOK)
    return spare
