"""Compute the watermark of a source from its partitions. Pure.

The watermark of a partition is the larger of its previous value and the smallest value of the watermark expression in
the last rows read from it. Once the partition is read to its end, it is the largest value of the partition. The
watermark of the source is the minimum of its active partitions, and never decreases. Instants are whole microseconds
since the Unix epoch.

    before          p0 500, p1 200          source 200
    candidates      p0 400, p1 600
    after           p0 500, p1 600          source 500
    p1 at its end   p0 500, p1 900          source 500: 900 is the largest value of p1
    p0 is idle      p0 500, p1 600          source 600: p0 is ignored; its rows are late when it resumes
    all are idle    p0 500, p1 600          source 900: the clock is at 910, and rows may be 10 late

See docs/decisions/watermarks-travel-in-offsets.md.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from engine.values.instants import FAR_FUTURE, to_micros

END_OF_TIME = to_micros(FAR_FUTURE)
"""Watermark of an ended input in reports, sinks and the API."""
END_OF_WINDOWS = (1 << 61) // 1000 * 1000
"""Watermark with which Spark closes the windows of an ended input. It is in the year 75037: windows end after their
rows, and a row may be in the last second of the year 9999."""
LAST_MARK = END_OF_TIME - 1_000_000
"""Latest watermark that rows can cause. A later one would mean that the input has ended."""
FIRST_MARK = to_micros(datetime(1, 1, 1, tzinfo=UTC))
"""Earliest watermark that rows can cause; earlier ones cannot be reported."""

_LEAST_STEP = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Marks:
    """Watermarks of the partitions and of their source; None is not known yet. `largest` has the largest value of a
    partition if it is later than its watermark. `holder` is the active partition that holds back the watermark of the
    source; None if all are idle."""

    partitions: Mapping[str, int | None]
    source: int | None = None
    largest: Mapping[str, int] = field(default_factory=dict)
    holder: str | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """Watermark values of the rows of one partition in one epoch: the smallest of its last rows, and the largest of
    all. None if there are none."""

    least: int | None = None
    largest: int | None = None


_NOTHING = Shown()


def advance(
    before: Marks,
    shown: Mapping[str, Shown],
    *,
    finished: Collection[str],
    idle: Collection[str],
    at_end: Collection[str] = (),
) -> Marks:
    """Return the watermarks after an epoch whose rows have `shown` these values. Partitions `at_end` have no unread
    row. Finished and idle partitions do not delay the watermark. A partition without any row yet delays it
    indefinitely."""
    partitions: dict[str, int | None] = {}
    largest: dict[str, int] = {}
    for name, before_mark in before.partitions.items():
        values = shown.get(name, _NOTHING)
        top = _later(before.largest.get(name), values.largest)
        mark = _later(before_mark, values.least)
        partitions[name] = mark = _later(mark, top) if name in at_end else mark
        if top is not None and (mark is None or top > mark):
            largest[name] = top
    active = [name for name in partitions if name not in finished and name not in idle]
    holder = min(active, key=lambda name: (partitions[name] is not None, partitions[name] or 0), default=None)
    least = None if holder is None else partitions[holder]
    return Marks(partitions, _later(before.source, least), largest, holder)


def bounded(mark: int) -> int:
    """Return the nearest watermark that can be reported and does not mean the end of the input."""
    return min(max(mark, FIRST_MARK), LAST_MARK)


def follow(watermark: int | None, others: Collection[int | None]) -> int | None:
    """Return the watermark of a source that is idle as a whole: it follows the slowest of the active ones."""
    marks = [mark for mark in others if mark is not None]
    if not marks or len(marks) < len(others):
        return watermark
    return _later(watermark, min(marks))


def follow_clock(watermark: int | None, by_clock: int | None, silence: timedelta) -> int | None:
    """Return the watermark of a source that is completely silent. It advances by at least a minute, or by the `silence`
    that it waited for if that is shorter: every advance is an epoch."""
    if by_clock is None or watermark is None:
        return _later(watermark, by_clock)
    step = min(silence, _LEAST_STEP) // timedelta(microseconds=1)
    return by_clock if by_clock - watermark >= step else watermark


@dataclass(slots=True)
class Silence:
    """Since when a source has had no rows, by the planner's clock. After the limit the watermark is the clock minus the
    delay of its rows; without a limit never."""

    limit: timedelta | None = None
    delay: timedelta = timedelta()
    since: datetime | None = None

    def find_mark(self, now: datetime, *, is_busy: bool) -> int | None:
        """Record whether there are rows, read or unread, and return the watermark by the clock; None while the source
        is not to follow the clock."""
        if is_busy or self.since is None:
            self.since = now
        if self.limit is None or now - self.since <= self.limit:
            return None
        return int((now - self.delay).timestamp() * 1_000_000)


@dataclass(slots=True)
class Activity:
    """Times at which each partition last had rows (read or waiting), by the planner's clock. A new partition counts as
    active when it is first seen."""

    limit: timedelta | None
    last: dict[str, datetime]

    def find_idle(self, partitions: Collection[str], busy: Collection[str], now: datetime) -> frozenset[str]:
        """Record which partitions are `busy`, having rows, and return which have been silent for longer than the
        limit."""
        for name in partitions:
            if name in busy or name not in self.last:
                self.last[name] = now
        if self.limit is None:
            return frozenset()
        return frozenset(name for name in partitions if now - self.last[name] > self.limit)


def _later(mark: int | None, other: int | None) -> int | None:
    if mark is None or other is None:
        return mark if other is None else other
    return max(mark, other)
