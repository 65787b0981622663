"""Compute the pause after an epoch, and pass its end from a run to its planners, which are in other processes.

Each epoch has an overhead before its first row, estimated by the shortest of the last epochs.

    linger 250 ms, overhead 200 ms
    epoch 7    took 200 ms                              pause of 250 ms
    epoch 8    took 1,100 ms, half of ten overheads     pause of 125 ms: rows took most of its time
    epoch 9    took 2,000 ms                            no pause: the overhead is a tenth of it
    epoch 10   took 200 ms, and left rows unread        no pause: the pipeline is behind
    epoch 11   took 200 ms, next to two pipelines with an overhead of 200 ms, on two cores: 600 ms in a quarter of the
               machine need an interval of 1,200 ms     pause of 1,000 ms

See docs/decisions/pipelines-rest-between-epochs.md.

Spark polls one planner after the other, round by round, and runs an epoch when one of them has something. Only the
planner that Spark polls first in a round waits.

    the run       epoch 7 has ended; pause until 12.25         pulses/pace contains 12.25
    planner of t  polled at 12.01                              answers at 12.25, with rows or without
    planner of t  polled at 12.30, and no epoch was run        answers at 12.50, 250 ms after its last answer
    the run       is asked to stop                             pulses/pace contains `at once`, and no planner waits

The instants are of the monotonic clock, which all processes of a machine share.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

LONGEST_STRETCH = timedelta(seconds=2)
"""Longest pause that other pipelines can cause."""
_NONE = timedelta(0)
_ROWS_TO_FIXED = 9
"""An epoch whose rows take nine times its overhead spends a tenth of its time on overhead."""
_SHARE_OF_MACHINE = 0.25
"""Share of a machine for the per-epoch overhead of all pipelines."""
_SILENT_LOOKS = 40
"""Number of polls without an epoch, about ten seconds, after which a source counts as silent."""
_SILENT_INTERVAL = timedelta(seconds=1.5)
"""Interval of polling a silent source. Each poll costs some milliseconds in Java and in Python."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Number of processors, of active pipelines on them, and the sum of their per-epoch overheads."""

    processors: int
    pipelines: int = 1
    fixed: timedelta = _NONE


@dataclass(frozen=True, slots=True)
class EndedEpoch:
    """Duration of an epoch, and its overhead. `goes_on` if it left work that need not wait: unread rows, a watermark
    that moved without rows, or the end of the input."""

    took: timedelta
    fixed: timedelta
    goes_on: bool = False


def rest_after(epoch: EndedEpoch, linger: timedelta, machine: Machine) -> timedelta:
    """Return the pause after an epoch."""
    if epoch.goes_on or not linger:
        return _NONE
    rows = epoch.took - epoch.fixed
    saved = 1 - rows / (_ROWS_TO_FIXED * epoch.fixed) if epoch.fixed else 1.0
    rest = max(_NONE, linger * saved)
    if machine.pipelines < 2:
        return rest
    distance = machine.fixed / (machine.processors * _SHARE_OF_MACHINE)
    return max(rest, min(distance - epoch.took, max(linger, LONGEST_STRETCH)))


def look_after(idle_looks: int, linger: timedelta) -> timedelta:
    """Return the pause after a poll that led to no epoch, given the number of such polls in a row."""
    return linger if idle_looks < _SILENT_LOOKS else max(linger, _SILENT_INTERVAL)


_PACE, _FIRST, _WAITED = "pace", "first", "waited"
_AT_ONCE = b"at once"
_WIDTH = 24
_LOOK, _LOOK_IN_SILENCE = 0.05, 0.25
"""Seconds between two reads of a waiting planner: short enough for a quick stop, and cheap."""


@dataclass(frozen=True, slots=True)
class PaceFile:
    """The pace file in a directory of pulses."""

    directory: Path

    def clear(self) -> None:
        """Forget what earlier runs have recorded."""
        self.directory.mkdir(parents=True, exist_ok=True)
        for name in (_PACE, _FIRST, _WAITED):
            (self.directory / name).unlink(missing_ok=True)

    def rest_until(self, instant: float) -> None:
        """Let planners look for input at that instant at the earliest."""
        self._write(_PACE, f"{instant:.6f}".encode())

    def hurry(self) -> None:
        """Let planners wait no longer."""
        self._write(_PACE, _AT_ONCE)

    def read(self) -> bytes:
        """Return the recorded pace; empty at first."""
        return self._read(_PACE)

    def note_waited(self, waited: timedelta) -> None:
        """Record how long a planner has waited in this round; Spark counts that as a part of the epoch."""
        self._write(_WAITED, f"{waited.total_seconds():.6f}".encode())

    def waited(self) -> timedelta:
        """Return how long a planner has waited in the newest round."""
        return timedelta(seconds=float(self._read(_WAITED) or 0))

    def is_first(self, table: str) -> bool:
        """Whether the planner of that table was the first to ask."""
        path = self.directory / _FIRST
        with suppress(FileExistsError):
            path.open("x").close()
            path.write_text(table)
        return path.read_text() == table

    def _read(self, name: str) -> bytes:
        try:
            return (self.directory / name).read_bytes().strip()
        except FileNotFoundError:
            return b""

    def _write(self, name: str, text: bytes) -> None:
        # always as long as before, and in one piece: it is read meanwhile
        file = os.open(self.directory / name, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.pwrite(file, text.ljust(_WIDTH), 0)
        finally:
            os.close(file)


@dataclass(slots=True)
class PlannerPause:
    """The pause of one planner before each of its answers."""

    file: PaceFile
    table: str
    linger: timedelta
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _is_first: bool | None = field(default=None, init=False)
    _asked_at: float = field(default=float("-inf"), init=False)
    _read_before: bytes = field(default=b"", init=False)
    _idle_looks: int = field(default=0, init=False)

    def wait(self) -> None:
        """Wait until the sources may be polled."""
        if self._is_first is None:
            self._is_first = self.file.is_first(self.table)
        if not self._is_first or not self.linger:
            return
        begin = self.clock()
        while (seconds := self._due(text := self.file.read()) - self.clock()) > 0:
            self.sleep(min(seconds, _LOOK_IN_SILENCE if text == self._read_before else _LOOK))
        self._idle_looks = self._idle_looks + 1 if text == self._read_before else 0
        self._asked_at, self._read_before = self.clock(), text
        self.file.note_waited(timedelta(seconds=self._asked_at - begin))

    def _due(self, text: bytes) -> float:
        if text == _AT_ONCE:
            return float("-inf")
        if text and text != self._read_before:
            return float(text)
        return self._asked_at + look_after(self._idle_looks, self.linger).total_seconds()
