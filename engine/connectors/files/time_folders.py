"""Directories that are named by event time: their names, and the end of their time range.

%Y/%m/%d    2024-01-31 10:00    ends at 2024-02-01 00:00
%Y-W%W      2024-01-03 10:00    ends at 2024-01-08 00:00, a Monday
static      2024-01-31 10:00    never ends: the pattern is the same for all times
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Literal

Unit = Literal["second", "minute", "hour", "day", "week", "month", "year"]

_DIRECTIVES: tuple[tuple[Unit, str], ...] = (
    ("second", "fSscXTr"),
    ("minute", "MR"),
    ("hour", "HIklp"),
    ("day", "dejDFxaAwu"),
    ("week", "UWV"),
    ("month", "mbBh"),
    ("year", "YyGC"),
)
_DIRECTIVE = re.compile(r"%[-_0^#]?([A-Za-z])")
_LENGTHS: dict[Unit, timedelta] = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def unit_of(pattern: str) -> Unit | None:
    """Return the finest unit that a pattern of strftime distinguishes; None if it distinguishes none."""
    letters = set(_DIRECTIVE.findall(pattern.replace("%%", "")))
    return next((unit for unit, directives in _DIRECTIVES if letters & set(directives)), "second" if letters else None)


def end_of(instant: datetime, pattern: str) -> int | None:
    """Return the end of the time unit that contains an instant, in microseconds; None if the pattern has no unit."""
    unit = unit_of(pattern)
    if unit is None:
        return None
    try:
        return (_next(instant, unit, starts_on_sunday="%U" in pattern) - _EPOCH) // timedelta(microseconds=1)
    except (OverflowError, ValueError):
        return None  # there is no year 10000


def _next(instant: datetime, unit: Unit, *, starts_on_sunday: bool) -> datetime:
    match unit:
        case "year":
            return datetime(instant.year + 1, 1, 1, tzinfo=UTC)
        case "month":
            return datetime(instant.year + instant.month // 12, instant.month % 12 + 1, 1, tzinfo=UTC)
        case "week":
            day = instant.isoweekday() % 7 if starts_on_sunday else instant.weekday()
            start = instant.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=day)
            return start + _LENGTHS[unit]
    length = _LENGTHS[unit]
    return instant - (instant - _EPOCH) % length + length
