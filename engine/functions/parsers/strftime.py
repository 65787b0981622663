"""Writing instants in formats of strftime's letters, as Arroyo knows them.

    format "%-d %b, %T%.f"      of 2024-03-05 07:08:09.25
    parts                       ("-", "d"), " ", ("", "b"), ", ", ("", "H"), ":", ("", "M"), ":", ("", "S"), ("", ".f")
    text                        "5 Mar, 07:08:09.250"

A part is plain text, or how a field is filled up and the field: `%T` is short for three fields, `-` fills with nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from engine.functions.parsers.time_patterns import from_postgres, is_foreign

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

SHORTHANDS: Mapping[str, str] = {
    "D": "%m/%d/%y",
    "x": "%m/%d/%y",
    "F": "%Y-%m-%d",
    "v": "%e-%b-%Y",
    "R": "%H:%M",
    "T": "%H:%M:%S",
    "X": "%H:%M:%S",
    "r": "%I:%M:%S %p",
    "c": "%a %b %e %H:%M:%S %Y",
    "+": "%Y-%m-%dT%H:%M:%S%.f%:z",
    "n": "\n",
    "t": "\t",
}
"""Fields that stand for several others, or for plain text."""
FIELD = re.compile(r"%([-_0]?)(\.[369]?f|[369]f|:{1,2}z|#z|[A-Za-z+%])")


@dataclass(frozen=True, slots=True)
class _Number:
    """A field of digits: how it is taken from an instant, how wide it is, and with what it is filled up."""

    of: Callable[[datetime], int]
    width: int
    fill: str = "0"


def _hour_of_half_day(at: datetime) -> int:
    return (at.hour + 11) % 12 + 1


def _week(at: datetime, first: int) -> int:
    """The week of the year, when weeks begin on that day; days before the first such day are in week 0."""
    return (at.timetuple().tm_yday + 6 - (at.weekday() - first) % 7) // 7


_NUMBERS: Mapping[str, _Number] = {
    "Y": _Number(lambda at: at.year, 4),
    "C": _Number(lambda at: at.year // 100, 2),
    "y": _Number(lambda at: at.year % 100, 2),
    "m": _Number(lambda at: at.month, 2),
    "d": _Number(lambda at: at.day, 2),
    "e": _Number(lambda at: at.day, 2, " "),
    "j": _Number(lambda at: at.timetuple().tm_yday, 3),
    "q": _Number(lambda at: (at.month + 2) // 3, 1),
    "w": _Number(lambda at: at.isoweekday() % 7, 1),
    "u": _Number(lambda at: at.isoweekday(), 1),
    "U": _Number(lambda at: _week(at, 6), 2),
    "W": _Number(lambda at: _week(at, 0), 2),
    "G": _Number(lambda at: at.isocalendar().year, 4),
    "g": _Number(lambda at: at.isocalendar().year % 100, 2),
    "V": _Number(lambda at: at.isocalendar().week, 2),
    "H": _Number(lambda at: at.hour, 2),
    "k": _Number(lambda at: at.hour, 2, " "),
    "I": _Number(_hour_of_half_day, 2),
    "l": _Number(_hour_of_half_day, 2, " "),
    "M": _Number(lambda at: at.minute, 2),
    "S": _Number(lambda at: at.second, 2),
    "f": _Number(lambda at: at.microsecond * 1000, 9),
    "s": _Number(lambda at: (at - _EPOCH) // timedelta(seconds=1), 1),
}
_WORDS: Mapping[str, Callable[[datetime], str]] = {
    "b": lambda at: MONTHS[at.month - 1][:3],
    "h": lambda at: MONTHS[at.month - 1][:3],
    "B": lambda at: MONTHS[at.month - 1],
    "a": lambda at: DAYS[at.weekday()][:3],
    "A": lambda at: DAYS[at.weekday()],
    "p": lambda at: "AM" if at.hour < 12 else "PM",
    "P": lambda at: "am" if at.hour < 12 else "pm",
    "Z": lambda _: "UTC",
    "z": lambda _: "+0000",
    "#z": lambda _: "+0000",
    ":z": lambda _: "+00:00",
    "::z": lambda _: "+00:00:00",
    "%": lambda _: "%",
    ".f": lambda at: _fraction(at, None),
    **{f".{places}f": lambda at, places=places: _fraction(at, places) for places in (3, 6, 9)},  # type: ignore[misc]
    **{f"{places}f": lambda at, places=places: _fraction(at, places)[1:] for places in (3, 6, 9)},  # type: ignore[misc]
}


def _fraction(at: datetime, places: int | None) -> str:
    """The digits of the second behind its point; without a count as many as are needed, in threes."""
    digits = f"{at.microsecond:06}000"
    if places is not None:
        return "." + digits[:places]
    return "." + re.sub(r"(000)+$", "", digits) if at.microsecond else ""


def is_format(text: str) -> bool:
    """Whether instants can be written so."""
    return _parts(text) is not None


def write_instant(at: datetime, text: str) -> str:
    """The instant in that format. Raises ValueError when it is none."""
    parts = _parts(text)
    if parts is None:
        raise ValueError(text)
    return "".join(part if isinstance(part, str) else _text_of(at, *part) for part in parts)


def _text_of(at: datetime, fill: str, field: str) -> str:
    number = _NUMBERS.get(field)
    if number is None:
        return _WORDS[field](at)
    filler = {"-": "", "_": " ", "0": "0"}.get(fill, number.fill)
    digits = str(number.of(at))
    return digits.rjust(number.width, filler) if filler else digits


@lru_cache(maxsize=256)
def _parts(text: str) -> tuple[str | tuple[str, str], ...] | None:
    """Split a format into plain text, and fields with their fill; None for an unknown field or a foreign pattern."""
    if is_foreign(text):
        return None
    pattern = text if "%" in text else from_postgres(text)
    pieces = re.split(FIELD, pattern)
    plain, fills, fields = pieces[::3], pieces[1::3], pieces[2::3]
    if any("%" in piece for piece in plain):
        return None
    parts: list[str | tuple[str, str]] = [plain[0]]
    for fill, field, after in zip(fills, fields, plain[1:], strict=True):
        if field in SHORTHANDS:
            parts.extend(_parts(SHORTHANDS[field]) if "%" in SHORTHANDS[field] else (SHORTHANDS[field],))  # type: ignore[arg-type]
        elif field in _NUMBERS or field in _WORDS:
            parts.append((fill, field))
        else:
            return None
        parts.append(after)
    return tuple(part for part in parts if part)
