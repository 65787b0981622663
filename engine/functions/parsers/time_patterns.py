"""Convert time patterns of strftime and Postgres to Java's.

Java's own patterns (`yyyy-MM-dd HH:mm`) and lower-case Postgres patterns (`yyyy-mm-dd hh24:mi`) are refused, since most
of their letters would be plain text. `in_strftime` spells them for the hint.
"""

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
_FOREIGN = re.compile(r"(?:y+|u+|d+|hh(?:24|12)?|h+|mi|m+|s+|S+|E+)+")
"""Text of pattern letters that we do not support."""
_FROM_JAVA = {
    "yyyy": "%Y",
    "uuuu": "%Y",
    "y": "%Y",
    "yy": "%y",
    "MMMM": "%B",
    "MMM": "%b",
    "MM": "%m",
    "M": "%-m",
    "DDD": "%j",
    "dd": "%d",
    "d": "%-d",
    "HH": "%H",
    "H": "%-H",
    "hh": "%I",
    "h": "%-I",
    "mm": "%M",
    "ss": "%S",
    "SSS": "%3f",
    "SSSSSS": "%6f",
    "SSSSSSSSS": "%9f",
    "a": "%p",
    "EEEE": "%A",
    "EEE": "%a",
    "E": "%a",
    "XXX": "%:z",
    "Z": "%z",
}
_POSTGRES_IN_SMALL = re.compile(r"hh24|hh12|mi|y\W?mm|mm\W?[yd]|d\W?mm")


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


def is_foreign(pattern: str) -> bool:
    """Whether a pattern without `%` has no field of ours, or fields of Java, or of Postgres in small letters.

    >>> is_foreign("yyyy-MM-dd"), is_foreign("YYYY-MM-DD"), is_foreign("HH24 h")
    (True, False, False)
    """
    if "%" in pattern:
        return False
    fields = "|".join(sorted(_FROM_POSTGRES, key=len, reverse=True))
    rest, known = re.subn(fields, "\0", re.sub('"[^"]*"', "", pattern))
    words = re.findall(r"[A-Za-z]+[0-9]*", re.sub("'[^']*'", "", rest))
    return (not known and bool(pattern)) or any(_FOREIGN.fullmatch(word) and len(word) > 1 for word in words)


def in_strftime(pattern: str) -> str | None:
    """Return the `%` spelling of a pattern of Java or Postgres; None if there is none.

    >>> in_strftime("yyyy-MM-dd'T'HH:mm"), in_strftime("yyyy-mm-dd hh24:mi")
    ('%Y-%m-%dT%H:%M', '%Y-%m-%d %H:%M')
    """
    if "%" in pattern:
        return None
    if not is_foreign(pattern):
        spelled = from_postgres(pattern)
        return spelled if "%" in spelled else None
    if not any(
        map(_FOREIGN.fullmatch, re.findall(r"[A-Za-z]+[0-9]*", re.sub("'[^']*'", "", pattern)))
    ) and not re.search("[MH]", pattern):
        return None
    if pattern == pattern.lower() and _POSTGRES_IN_SMALL.search(pattern):
        minutes = re.sub(r"(hh(?:24|12)?\W?)mm", r"\1mi", pattern)
        return from_postgres(re.sub('(?<=")[^"]*(?=")|[a-z0-9]+', lambda word: word[0].upper(), minutes))
    pieces = [_from_java(run) for run in _runs(pattern)]
    return None if None in pieces else "".join(piece for piece in pieces if piece is not None)


def _runs(pattern: str) -> list[str]:
    """Split a pattern of Java into quoted texts, runs of one letter, and the rest."""
    return [run[0] for run in re.finditer(r"'[^']*'|([A-Za-z])\1*|[^A-Za-z']+", pattern)]


def _from_java(run: str) -> str | None:
    """Return the spelling of a run of a Java pattern; None for letters that strftime has no field for."""
    if run.startswith("'"):
        return run.strip("'") or "'"
    return _FROM_JAVA.get(run) if run[0].isalpha() else run.replace("%", "%%")


def from_postgres(pattern: str) -> str:
    """Return a pattern of Postgres' in the letters of strftime.

    >>> from_postgres('YYYY-MM "at" HH24')
    '%Y-%m at %H'
    """
    fields = "|".join(sorted(_FROM_POSTGRES, key=len, reverse=True))
    return re.sub(f'{fields}|"[^"]*"', lambda field: _FROM_POSTGRES.get(field[0], field[0].strip('"')), pattern)


def _quote(text: str) -> str:
    """Quote letters, and characters that Java might interpret."""
    return re.sub(r"[A-Za-z'#{}\[\]%]+", lambda letters: "'" + letters[0].replace("'", "''") + "'", text)
