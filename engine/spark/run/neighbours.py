"""Active pipelines on this machine: each writes a file into a directory that all pipelines of a user share.

running/4711   0.21   changed 2 s ago       per-epoch overhead in seconds
running/4712   0.34   changed 4 s ago
running/4001   0.20   changed an hour ago   idle, or gone
result         two pipelines, 0.55 s together
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from engine.spark.run.pace import Machine

_INTERVAL = 5.0
"""Seconds between two reads."""
_FRESH = 3 * _INTERVAL
_GONE = 3600.0


@dataclass(slots=True)
class Neighbours:
    """The file of one pipeline, and the sum over all pipelines. If the directory cannot be used, the pipeline counts as
    alone."""

    directory: Path
    name: str
    clock: Callable[[], float] = time.time
    processors: int = field(default_factory=lambda: os.cpu_count() or 1)
    _machine: Machine = field(init=False)
    _looked_at: float = field(default=float("-inf"), init=False)

    def __post_init__(self) -> None:
        self._machine = Machine(self.processors)

    def look(self, fixed: timedelta) -> Machine:
        """Return the load of the machine, with the per-epoch overhead of our own epochs."""
        if self.clock() - self._looked_at >= _INTERVAL:
            self._looked_at = self.clock()
            with suppress(OSError, ValueError):
                self._tell(fixed)
                self._machine = self._count()
        return self._machine

    def leave(self) -> None:
        """Unregister this run: it has no more epochs."""
        with suppress(OSError):
            (self.directory / self.name).unlink(missing_ok=True)

    def _tell(self, fixed: timedelta) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        draft = self.directory / f".{self.name}"
        draft.write_text(f"{fixed.total_seconds():.6f}")
        draft.replace(self.directory / self.name)
        os.utime(self.directory / self.name, (self.clock(), self.clock()))

    def _count(self) -> Machine:
        seconds: list[float] = []
        for file in self.directory.iterdir():
            age = self.clock() - file.stat().st_mtime
            if age > _GONE:
                file.unlink(missing_ok=True)
            elif age <= _FRESH and not file.name.startswith("."):
                seconds.append(float(file.read_text()))
        return Machine(self.processors, len(seconds), timedelta(seconds=sum(seconds)))
