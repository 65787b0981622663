r"""Format and parse times by strftime patterns.

Format instants with strftime patterns, as Arroyo does.

    format "%-d %b, %T%.f"      of 2024-03-05 07:08:09.25
    parts                       ("-", "d"), " ", ("", "b"), ", ", ("", "H"), ":", ("", "M"), ":", ("", "S"), ("", ".f")
    text                        "5 Mar, 07:08:09.250"

A part is plain text, or a padding and a field: `%T` is short for three fields, `-` means no padding.

Parse instants with strftime patterns.

    format    "%d.%m.%y %H:%M %z"
    groups    \s*(?P<d>\d{1,2})\.\s*(?P<m>\d{1,2})\.\s*(?P<y>\d{1,2})\s*\s*(?P<H>\d{1,2}):\s*(?P<M>[0-5]?\d)\s*...
    text      "5.3.24 19:08 +0200"      d = 5, m = 3, y = 24, H = 19, M = 08, z = +0200
    instant   2024-03-05 17:08 UTC

Fields with the same meaning share a group (`%e` and `%d`), so that a pattern cannot contain both. Group names have
letters only: `%.f` is the group `x2e_f`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

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
"""Fields that are short for several others, or for plain text."""
FIELD = re.compile(r"%([-_0]?)(\.[369]?f|[369]f|:{1,2}z|#z|[A-Za-z+%])")


@dataclass(frozen=True, slots=True)
class _Number:
    """A numeric field: how to compute it, its width and its padding."""

    of: Callable[[datetime], int]
    width: int
    fill: str = "0"


def _hour_of_half_day(at: datetime) -> int:
    return (at.hour + 11) % 12 + 1


def _week(at: datetime, first: int) -> int:
    """Return the week of the year, when weeks begin on that day; days before the first such day are in week 0."""
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
    """Return the digits of the second behind its point; without a count as many as are needed, in threes."""
    digits = f"{at.microsecond:06}000"
    if places is not None:
        return "." + digits[:places]
    return "." + re.sub(r"(000)+$", "", digits) if at.microsecond else ""


def is_format(text: str) -> bool:
    """Whether instants can be written so."""
    return _parts(text) is not None


def write_instant(at: datetime, text: str) -> str:
    """Return the instant in that format. Raises ValueError when it is none."""
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


_ZONE = r"[+-]\d{2}:?\d{2}"
_NAMES: Mapping[str, tuple[str, ...]] = {"b": MONTHS, "h": MONTHS, "B": MONTHS, "a": DAYS, "A": DAYS}
_READS: Mapping[str, str] = {
    "Y": r"[+-]\d{1,9}|\d{1,4}",
    **dict.fromkeys(("G",), r"\d{4}"),
    **dict.fromkeys(("C", "y", "m", "d", "H", "I", "V"), r"\d{1,2}"),
    "M": r"[0-5]?\d",
    "S": r"[0-5]?\d|60",
    **dict.fromkeys(("e", "k", "l"), r" ?\d{1,2}"),
    "j": r"\d{1,3}",
    "u": r"[1-7]",
    "w": r"[0-6]",
    "f": r"\d{1,9}",
    "s": r"-?\d+",
    **dict.fromkeys(("p", "P"), r"[ap]m"),
    "z": _ZONE,
    ":z": _ZONE,
    "::z": rf"{_ZONE}(?::\d{{2}})?",
    "#z": r"[+-]\d{2}(?::?\d{2})?|Z",
    "Z": r"[A-Za-z_]+(?:/[A-Za-z_+-]+)*",
    ".f": r"(?:\.\d+)?",
    **{f".{places}f": r"(?:\.\d+)?" for places in (3, 6, 9)},
    **{f"{places}f": rf"\d{{{places}}}" for places in (3, 6, 9)},
}
_MEANS: Mapping[str, str] = {
    "e": "d",
    "k": "H",
    "l": "I",
    "h": "b",
    "B": "b",
    "A": "a",
    "P": "p",
    ":z": "z",
    "::z": "z",
    "#z": "z",
    **{f".{places}f": ".f" for places in (3, 6, 9)},
}
# Reading, unlike writing, takes a Z for the zone, and any length of second.
_RFC3339 = r"(?P<Y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)[Tt ](?P<H>\d\d):(?P<M>\d\d):(?P<S>\d\d)(?P<x2e_f>(?:\.\d+)?)"
_RFC3339 += rf"(?P<z>{_ZONE}|[Zz])"


def can_read(pattern: str) -> bool:
    """Whether instants can be read from texts of this format."""
    try:
        return "%" in pattern and _expression(pattern) is not None
    except ValueError:
        return False


def read_instant(text: str, pattern: str) -> datetime:
    """Parse an instant, in UTC unless it has a zone. Raise ValueError if it does not fit."""
    parts = _expression(pattern).fullmatch(text)
    if parts is None:
        raise ValueError(f"{text!r} is not of the form {pattern!r}")
    values = {_letter(name): value for name, value in parts.groupdict().items() if value is not None}
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(values["s"])) if "s" in values else _local(values)
    if "a" in values and _index_of(values["a"], DAYS) != at.weekday():
        raise ValueError(f"{text!r} was no {values['a']}")
    at += _fraction_strftime_reading(values)
    return at if "s" in values else _in_utc(at, values)


@lru_cache(maxsize=256)
def _expression(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(_source(pattern), re.IGNORECASE | re.ASCII)
    except re.error as error:
        raise ValueError(f"{pattern!r} asks twice for the same thing") from error


def _source(pattern: str) -> str:
    pieces = re.split(FIELD, pattern)
    source = _literally(pieces[0])
    for field, after in zip(pieces[2::3], pieces[3::3], strict=True):
        source += _field(field) + _literally(after)
    return source


def _field(field: str) -> str:
    if field == "%":
        return "%"
    if field == "+":
        return _RFC3339
    if field in SHORTHANDS:
        return _source(SHORTHANDS[field])
    name = _group(_MEANS.get(field, field))
    if field in _NAMES:
        return f"(?P<{name}>{'|'.join(f'{word}|{word[:3]}' for word in _NAMES[field])})"
    if field not in _READS:
        raise ValueError(f"%{field} cannot be read")
    space = r"\s*" if "d" in _READS[field] and not field.endswith(("f", "z")) else ""
    return f"{space}(?P<{name}>{_READS[field]})"


def _literally(text: str) -> str:
    """Return the text itself, where white space is any amount of white space."""
    return r"\s*".join(map(re.escape, re.split(r"\s+", text)))


def _group(field: str) -> str:
    return re.sub(r"[^A-Za-z]", lambda character: f"x{ord(character[0]):02x}_", field)


def _letter(group: str) -> str:
    return re.sub(r"x([0-9a-f]{2})_", lambda code: chr(int(code[1], 16)), group)


def _local(values: Mapping[str, str]) -> datetime:
    number = {field: int(value) for field, value in values.items() if re.fullmatch(r"\s*[+-]?\d+", value)}
    hour = number.get("H")
    if hour is None:
        hour = number.get("I", 12) % 12 + (12 if values.get("p", "").lower() == "pm" else 0)
    if hour > 23 or number.get("I", 1) not in range(1, 13):
        raise ValueError(f"there is no hour {hour}")
    time = timedelta(hours=hour, minutes=number.get("M", 0), seconds=number.get("S", 0))
    return datetime.combine(_day(values, number), datetime.min.time(), UTC) + time


def _day(values: Mapping[str, str], number: Mapping[str, int]) -> date:
    if "G" in number and "V" in number:
        return date.fromisocalendar(number["G"], number["V"], number.get("u", 1))
    year = number["Y"] if "Y" in number else _full_year(number)
    if "j" in number:
        return date(year, 1, 1) + timedelta(days=number["j"] - 1)
    month = _index_of(values["b"], MONTHS) + 1 if "b" in values else number.get("m")
    if month is None or "d" not in number:
        raise ValueError("there is no day in it")
    return date(year, month, number["d"])


def _full_year(number: Mapping[str, int]) -> int:
    if "y" not in number:
        raise ValueError("there is no year in it")
    # the border is at 69 in POSIX, and at 70 in Arroyo
    century = number.get("C", 19 if number["y"] >= 70 else 20)
    return century * 100 + number["y"]


def _index_of(word: str, names: tuple[str, ...]) -> int:
    return next(index for index, name in enumerate(names) if name[:3].lower() == word[:3].lower())


def _fraction_strftime_reading(values: Mapping[str, str]) -> timedelta:
    for field, value in values.items():
        if field == "f":
            return timedelta(microseconds=int(value) // 1000)
        if field.endswith("f") and value:
            return timedelta(microseconds=int(value.lstrip(".")[:6].ljust(6, "0")))
    return timedelta(0)


def _in_utc(at: datetime, values: Mapping[str, str]) -> datetime:
    if "Z" in values:
        try:
            return at.replace(tzinfo=ZoneInfo(values["Z"])).astimezone(UTC)
        except ZoneInfoNotFoundError as error:
            raise ValueError(f"there is no time zone {values['Z']}") from error
    zone = values.get("z", "Z")
    if zone.upper() == "Z":
        return at
    digits = zone[1:].replace(":", "").ljust(6, "0")
    ahead = timedelta(hours=int(digits[:2]), minutes=int(digits[2:4]), seconds=int(digits[4:6]))
    return at + ahead if zone.startswith("-") else at - ahead
