"""Set the pause of a run after each epoch; `pace` computes it, also from the number of other active pipelines on this
machine.

running/4711   0.21   changed 2 s ago       per-epoch overhead in seconds
running/4712   0.34   changed 4 s ago
running/4001   0.20   changed an hour ago   idle, or gone
result         two pipelines, 0.55 s together
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from engine.spark.jvm.class_archive import cache_dir
from engine.spark.read.planner import Offset
from engine.spark.run.pace import EndedEpoch, Machine, PaceFile, rest_after
from engine.spark.run.progress import ReadSlices

_REMEMBERED = 20
"""Number of epochs in which the shortest gives the overhead. Older ones may be from a cold JVM."""


def leaves_work(
    ends: Sequence[Offset], fresh_ends: Sequence[Offset], read: Mapping[str, ReadSlices], max_rows: int | None
) -> bool:
    """Whether an epoch that ends there leaves work that need not wait: rows for which it had no room, the steps at the
    end of the input, or a watermark that it has advanced without reading."""
    if all(end.is_end for end in ends) or any(end.waiting for end in ends):
        return True
    # where a source cannot say what it has not read: an epoch that is half full had probably no room for more
    if max_rows is not None and any(table.rows + table.dropped >= max_rows / 2 for table in read.values()):
        return True
    return not any(end.moved or end.is_by_clock for end in fresh_ends)


def pacing_of(pulses: Path, linger: timedelta, epoch_interval: timedelta, lineage: str) -> Pacing:
    """Return the pace of the run with that directory of pulses, among the runs on its machine. With an explicit
    interval of epochs, only that counts."""
    pace = timedelta(0) if epoch_interval else linger
    return Pacing(PaceFile(pulses), pace, Neighbours(cache_dir(os.environ) / "running", lineage))


@dataclass(slots=True)
class Pacing:
    """Pace of a run. Spark's thread ends epochs; the thread of the run records their durations, and can cancel the
    pause."""

    file: PaceFile
    linger: timedelta
    neighbours: Neighbours
    clock: Callable[[], float] = time.monotonic
    _durations: deque[timedelta] = field(default_factory=lambda: deque(maxlen=_REMEMBERED), init=False)
    _is_hurrying: bool = field(default=False, init=False)
    _guard: threading.Lock = field(default_factory=threading.Lock, init=False)

    def begin(self) -> None:
        """Forget the pace of earlier runs, when the run starts its query."""
        self.file.clear()

    def waited(self) -> timedelta:
        """Return how long the current epoch was delayed since Spark began to plan it."""
        return self.file.waited() if self.linger else timedelta(0)

    def note(self, duration: timedelta) -> None:
        """Record how long a committed epoch took in all."""
        if self.linger:
            self._durations.append(duration)

    def rest(self, *, goes_on: bool) -> None:
        """Choose the pause after an epoch that the sinks have taken; one that `goes_on` has left work that need not
        wait."""
        if not self.linger:
            return
        durations = tuple(self._durations) or (timedelta(0),)
        fixed = min(durations)
        rest = rest_after(EndedEpoch(durations[-1], fixed, goes_on), self.linger, self.neighbours.look(fixed))
        with self._guard:
            if not self._is_hurrying:
                self.file.rest_until(self.clock() + rest.total_seconds())

    def hurry(self) -> None:
        """End the pause, since the run is to stop."""
        with self._guard:
            if self.linger and not self._is_hurrying:
                self._is_hurrying = True
                self.file.hurry()

    def end(self) -> None:
        """Unregister the run, which has ended."""
        self.neighbours.leave()


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
