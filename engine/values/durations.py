"""Parse and format durations."""

from __future__ import annotations

import re
from datetime import timedelta

from engine.errors import DurationError

_UNITS = {
    "microsecond": timedelta(microseconds=1),
    "us": timedelta(microseconds=1),
    "millisecond": timedelta(milliseconds=1),
    "ms": timedelta(milliseconds=1),
    "second": timedelta(seconds=1),
    "sec": timedelta(seconds=1),
    "s": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "min": timedelta(minutes=1),
    "m": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "hr": timedelta(hours=1),
    "h": timedelta(hours=1),
    "day": timedelta(days=1),
    "d": timedelta(days=1),
    "week": timedelta(weeks=1),
    "w": timedelta(weeks=1),
}
_SHOWN = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_MONTHS = {"month": 1, "mon": 1, "quarter": 3, "year": 12, "yr": 12, "y": 12, "decade": 120, "century": 1200}
_HAS_MONTHS = re.compile(rf"\d\s*(?:{'|'.join(_MONTHS)})s?(?![A-Za-z])", re.IGNORECASE)
_PART = re.compile(r"\s*,?\s*([+-]?\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")
_CLOCK = re.compile(r"\s*([+-]?)(\d+):(\d\d)(?::(\d\d(?:\.\d{1,6})?))?\s*$")


def read_duration(text: str) -> timedelta:
    """Return the length that `text` names: '5 seconds', '1 minute 30 seconds', '1.5h', '01:30:00'.
    Months and years are refused, since their length varies."""
    try:
        return _read(text)
    except (OverflowError, ValueError):
        shown = text if len(text) <= 40 else text[:37] + "..."
        raise DurationError(f"{shown!r} is too long a time", hint="write a shorter one") from None


def spell_duration(length: timedelta) -> str:
    """Return a length of time in its largest whole unit, as `read_duration` reads it."""
    micros = length // timedelta(microseconds=1)
    for name, size in (("hours", 3_600_000_000), ("minutes", 60_000_000), ("seconds", 1_000_000), ("ms", 1_000)):
        if micros and micros % size == 0:
            count = micros // size
            return f"{count} {name.removesuffix('s') if count == 1 and name != 'ms' else name}"
    return f"{micros} us"


def shorten_duration(micros: int) -> str:
    """Return a length of time, without its sign, in its largest unit and the next, for people: '2 h 5 min'."""
    seconds = abs(micros) / 1_000_000
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    at = next(at for at, (length, _) in enumerate(_SHOWN) if whole >= length)
    (length, unit), rest = _SHOWN[at], ""
    if at + 1 < len(_SHOWN) and (count := whole % length // _SHOWN[at + 1][0]):
        rest = f" {count} {_SHOWN[at + 1][1]}"
    return f"{whole // length} {unit}{rest}"


def spell_lag(micros: object) -> str | None:
    """Return a lag for people: '2 h 5 min', or '18 h ahead' of the clock if it is negative; None if it is not known."""
    if not isinstance(micros, int):
        return None
    return shorten_duration(micros) + (" ahead" if micros < 0 else "")


def read_months(text: str) -> tuple[int, timedelta] | None:
    """Read the months of a duration and its rest: '1 year 3 days'. Return None for a text without months, or with parts
    of one."""
    if not _HAS_MONTHS.search(text):
        return None
    months, other_units = 0, ""
    for part in _PART.finditer(text):
        count = _months_of(part[2])
        if count is None:
            other_units += part[0]
        elif "." in part[1]:
            return None
        else:
            months += int(part[1]) * count
    if re.sub(_PART, "", text).strip():
        return None
    return months, read_duration(other_units) if other_units else timedelta(0)


def _months_of(word: str) -> int | None:
    name = word.lower()
    return _MONTHS.get(name, _MONTHS.get(name.removesuffix("s")))


def _read(text: str) -> timedelta:
    clock = _CLOCK.match(text)
    if clock:
        return _from_clock(clock)
    total, end = timedelta(), 0
    while end < len(text):
        part = _PART.match(text, end)
        if part is None:
            raise _unreadable(text)
        total += float(part[1]) * _unit(part[2], text) if "." in part[1] else int(part[1]) * _unit(part[2], text)
        end = part.end()
    if not text.strip():
        raise _unreadable(text)
    return total


def _from_clock(clock: re.Match[str]) -> timedelta:
    length = timedelta(hours=int(clock[2]), minutes=int(clock[3]), seconds=float(clock[4] or 0))
    return -length if clock[1] == "-" else length


def _unit(word: str, text: str) -> timedelta:
    # 'm' and 's' stay whole; only words lose their plural
    name = word.lower()
    for candidate in (name, name.removesuffix("s"), name.removesuffix("es")):
        if candidate in _UNITS:
            return _UNITS[candidate]
        if _months_of(candidate) is not None:
            raise DurationError(f"{text!r} has no fixed length", hint="write it in days or smaller units")
    raise DurationError(
        f"{word!r} in {text!r} is not a unit of time",
        hint="use microseconds, milliseconds, seconds, minutes, hours, days or weeks",
    )


def _unreadable(text: str) -> DurationError:
    return DurationError(
        f"{text!r} is not a length of time", hint="write for example '5 seconds' or '1 minute 30 seconds'"
    )


DEFAULT_LINGER = timedelta(milliseconds=250)
"""Too short for users to notice; it halves the number of epochs of a stream with some rows per second."""
LONGEST_LINGER = timedelta(seconds=10)
"""Largest setting; for a larger distance of epochs, set the checkpoint interval."""
