"""Decide which open files become final. Pure: depends on their content and one reading of the clocks.

With file_size = 100 and interval = 60 s:

    12:00:00  epoch 1 brings us: 70 bytes, eu: 20     open: us 70, eu 20
    12:00:10  epoch 2 brings us: 50                   us has 120 >= 100: final; open: eu 20
    12:01:00  epoch 3 brings nothing                  eu is 60 s old: final

The clock is read once and the result is stored in the epoch's manifest, so that a run after a crash rolls the same
files (docs/decisions/files-are-built-of-segments.md). Instants are whole microseconds since the Unix epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from engine.delivery.segments import Segment, oldest_of

_MICRO = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class RollingPolicy:
    """Conditions that make an open file final, besides the end of the input: its size, its age, a time without new
    rows, or a watermark after the end of its directory; whichever comes first. Without any of them, every epoch does.
    """

    file_size: int | None = None
    interval: timedelta | None = None
    inactivity: timedelta | None = None
    at_watermark: bool = False

    @property
    def is_every_epoch(self) -> bool:
        """Whether no file stays open."""
        return self == RollingPolicy()


@dataclass(frozen=True, slots=True)
class Moment:
    """Clock and watermark at the time when an epoch is decided, and whether it is the last one."""

    now: int
    watermark: int | None = None
    is_last: bool = False

    def has_passed(self, until: int | None) -> bool:
        """Whether the watermark is at or after an instant; False for None."""
        return until is not None and self.watermark is not None and until <= self.watermark


@dataclass(frozen=True, slots=True)
class OpenFile:
    """Unpublished rows of one partition, and the times of the first (`since`) and the last of them. `watermark_before`
    is the watermark before the file was opened: all older rows went into other files. None if there was no watermark
    yet, and for files of earlier versions."""

    partition: str
    since: int
    last: int
    segments: tuple[Segment, ...]
    watermark_before: int | None = None

    @property
    def rows(self) -> int:
        """Return the number of rows in the file."""
        return sum(segment.rows for segment in self.segments)

    @property
    def bytes(self) -> int:
        """Return the expected size of the file."""
        return sum(segment.bytes for segment in self.segments)

    @property
    def holds_from(self) -> int | None:
        """Return the instant before which the file has no rows, except late ones: the time of its oldest row if that is
        known, or else the watermark before it was opened."""
        known = [time for time in (oldest_of(self.segments), self.watermark_before) if time is not None]
        return max(known, default=None)

    @property
    def until(self) -> int | None:
        """Return the end of the file's time bucket, for directories by event time."""
        return max((segment.until for segment in self.segments if segment.until is not None), default=None)


@dataclass(frozen=True, slots=True)
class TimeDirectory:
    """A directory of event time that has rows, and the end of its time range."""

    name: str
    until: int


GATHERED_AT_ONCE = 16
"""Number of small segments of one level that are merged into one of the next level. So a file of a million small
segments (16 ** 5) has fewer than a hundred at any time (15 of each of six levels), and each row is rewritten at most
five times."""
_SMALL = 8 * 1024 * 1024


def runs_of_small_segments(file: OpenFile) -> list[tuple[int, int]]:
    """Return the begin and end of each run of adjacent small segments of one level in an open file. Only adjacent
    segments are merged, so that rows keep their order."""
    runs, first = [], 0
    kinds = [(segment.level, segment.bytes < _SMALL) for segment in file.segments]
    for at in range(1, len(kinds) + 1):
        if at == len(kinds) or kinds[at] != kinds[first]:
            if at - first >= GATHERED_AT_ONCE and kinds[first][1]:
                runs.append((first, at))
            first = at
    return runs


def grow(
    files: Sequence[OpenFile], segments: Sequence[Segment], now: int, watermark_before: int | None = None
) -> list[OpenFile]:
    """Return the open files with an epoch's segments added, each to the file of its partition, in order. Before the
    epoch the watermark was `watermark_before`."""
    grown = {file.partition: file for file in files}
    for segment in segments:
        file = grown.get(segment.partition) or OpenFile(segment.partition, now, now, (), watermark_before)
        grown[segment.partition] = replace(file, last=now, segments=(*file.segments, segment))
    return list(grown.values())


def is_due(file: OpenFile, policy: RollingPolicy, moment: Moment) -> bool:
    """Whether an open file becomes final now."""
    return (
        moment.is_last
        or policy.is_every_epoch
        or (policy.file_size is not None and file.bytes >= policy.file_size)
        or (policy.interval is not None and (moment.now - file.since) * _MICRO >= policy.interval)
        or (policy.inactivity is not None and (moment.now - file.last) * _MICRO >= policy.inactivity)
        or (policy.at_watermark and moment.has_passed(file.until))
    )
