"""Patterns for writing instants: those of strftime and those of Postgres, as the pattern letters of Java."""

from __future__ import annotations

import re

_STRFTIME = {
    "%Y": "yyyy",
    "%y": "yy",
    "%m": "MM",
    "%d": "dd",
    "%j": "DDD",
    "%H": "HH",
    "%I": "hh",
    "%M": "mm",
    "%S": "ss",
    "%p": "a",
    "%f": "SSSSSSSSS",
    "%3f": "SSS",
    "%6f": "SSSSSS",
    "%.3f": ".SSS",
    "%.6f": ".SSSSSS",
    "%b": "MMM",
    "%B": "MMMM",
    "%a": "EEE",
    "%A": "EEEE",
    "%F": "yyyy-MM-dd",
    "%T": "HH:mm:ss",
    "%R": "HH:mm",
    "%D": "MM/dd/yy",
    "%%": "%",
}
_FROM_POSTGRES = {
    "YYYY": "%Y",
    "YY": "%y",
    "MM": "%m",
    "Month": "%B",
    "Mon": "%b",
    "DDD": "%j",
    "DD": "%d",
    "Day": "%A",
    "Dy": "%a",
    "HH24": "%H",
    "HH12": "%I",
    "HH": "%I",
    "MI": "%M",
    "SS": "%S",
    "MS": "%3f",
    "US": "%6f",
    "AM": "%p",
    "PM": "%p",
}
_POSTGRES = {field: _STRFTIME[letter] for field, letter in _FROM_POSTGRES.items()}


def to_java_pattern(pattern: str) -> str | None:
    """Translate the pattern to Java's letters; None if it has a field that we do not write.

    >>> to_java_pattern("%Y-%m-%dT%H:%M")
    "yyyy-MM-dd'T'HH:mm"
    """
    table = _STRFTIME if "%" in pattern else _POSTGRES
    fields = "|".join(map(re.escape, sorted(table, key=len, reverse=True)))
    quoted = '|"[^"]*"' if table is _POSTGRES else ""
    parts = re.split(f"({fields}{quoted})", pattern)
    plain, names = parts[::2], parts[1::2]
    if any("%" in text for text in plain):
        return None
    texts = [_quote(text) for text in plain]
    letters = [table[field] if field in table else _quote(field.strip('"')) for field in names]
    return "".join(text + letter for text, letter in zip(texts, [*letters, ""], strict=True))


def from_postgres(pattern: str) -> str:
    """A pattern of Postgres' in the letters of strftime.

    >>> from_postgres('YYYY-MM "at" HH24')
    '%Y-%m at %H'
    """
    fields = "|".join(sorted(_FROM_POSTGRES, key=len, reverse=True))
    return re.sub(f'{fields}|"[^"]*"', lambda field: _FROM_POSTGRES.get(field[0], field[0].strip('"')), pattern)


def _quote(text: str) -> str:
    """Letters, and what Java might read as more than itself, in quotes."""
    return re.sub(r"[A-Za-z'#{}\[\]%]+", lambda letters: "'" + letters[0].replace("'", "''") + "'", text)
