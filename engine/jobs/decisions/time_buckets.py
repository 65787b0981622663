"""Event time in buckets of one length: every hour, every day of a time zone, every 15 minutes.

    1 hour                          05:00 to 06:00, 06:00 to 07:00, ...
    1 hour, offset 10 minutes       05:10 to 06:10, ...
    1 day in Europe/Berlin          2026-03-28T23:00Z to 2026-03-29T22:00Z, a day of 23 hours, and then days of 24 again
    7 days, offset 4 days           from Monday to Monday: the first day of 1970 was a Thursday

Buckets follow one another without a gap, and each instant is in one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from engine.errors import PartitionError
from engine.values.instants import EPOCH

_SECOND = timedelta(seconds=1)
_DAY = timedelta(days=1)
_LONGEST = timedelta(days=3660)
FIRST = datetime(1900, 1, 1, tzinfo=UTC)
LAST = datetime(9900, 1, 1, tzinfo=UTC)
"""Instants that somebody may name lie between the two: there are buckets on both sides."""


@dataclass(frozen=True, slots=True)
class TimeBuckets:
    """How event time is divided. Buckets of whole days may be those of a time zone; their `offset` is by its clocks."""

    every: timedelta
    offset: timedelta = timedelta(0)
    time_zone: str = "UTC"

    def holding(self, instant: datetime) -> datetime:
        """Return the start of the time bucket that contains an instant."""
        if self.time_zone == "UTC":
            return instant - (instant - EPOCH - self.offset) % self.every
        local = instant.astimezone(ZoneInfo(self.time_zone)).replace(tzinfo=UTC)
        number = (local - EPOCH - self.offset) // self.every
        # clocks that are put back show a time twice, and those of a midnight that is left out none
        return next(start for start in map(self._beginning, (number + 1, number, number - 1)) if start <= instant)

    def after(self, start: datetime) -> datetime:
        """Return the end of the time bucket that starts at `start`."""
        if self.time_zone == "UTC":
            return start + self.every
        local = start.astimezone(ZoneInfo(self.time_zone)).replace(tzinfo=UTC)
        number = (local - EPOCH - self.offset) // self.every
        return next(end for end in map(self._beginning, (number, number + 1, number + 2)) if end > start)

    def _beginning(self, number: int) -> datetime:
        clocks = EPOCH + number * self.every + self.offset
        return clocks.replace(tzinfo=ZoneInfo(self.time_zone)).astimezone(UTC)


def check_buckets(buckets: TimeBuckets) -> None:
    """Refuse a division that nobody can follow."""
    if not _SECOND <= buckets.every <= _LONGEST or buckets.every % _SECOND:
        raise PartitionError(
            f"a bucket cannot be {buckets.every} long", hint="choose whole seconds, at least one and at most ten years"
        )
    if not timedelta(0) <= buckets.offset < buckets.every or buckets.offset % _SECOND:
        raise PartitionError(
            f"buckets cannot begin {buckets.offset} later",
            hint="choose an offset of whole seconds that is shorter than a bucket",
        )
    if buckets.time_zone == "UTC":
        return
    _zone(buckets.time_zone)
    if buckets.every % _DAY:
        raise PartitionError(
            "only buckets of whole days are divided by the clocks of a time zone",
            hint="leave the time zone out, and use an offset where its hours begin at other minutes",
        )


def check_instant(name: str, instant: datetime) -> None:
    """Refuse an instant that has no buckets around it."""
    if not FIRST <= instant < LAST:
        raise PartitionError(f"{name} {instant.isoformat()} is too far away", hint="choose one from 1900 to 9900")


def key_of(start: datetime) -> str:
    """Return the key of a time bucket: its start in UTC, as Airflow's partition mappers read it."""
    return f"{start.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise PartitionError(f"there is no time zone {name!r}", hint="use a name like Europe/Berlin") from error
