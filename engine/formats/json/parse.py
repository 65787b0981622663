"""Parse the text of a record, but leave values of type JSON as text.

Python's own parser would lose the spelling of a number (1.10 is 1.1) and the text of a value for a JSON column. For
`doc JSON, n DECIMAL`, the record

    {"doc": {"a": 1.0}, "n": 1.10}   gives   {"doc": RawJson('{"a": 1.0}'), "n": SpelledNumber("1.10")}

Without JSON columns, Python's parser does all of it; otherwise we descend to the values of that type, and it parses all
others.

Infer columns from some JSON records.

    {"id": 1, "at": "2026-01-02T03:04:05Z", "tags": ["a"], "who": {"name": "Ann"}}
    {"id": 2.5, "note": null, "tags": []}

    id DOUBLE, at TIMESTAMP, tags TEXT[], who STRUCT<name TEXT>, note TEXT        note is a guess: it was only null

Values of different kinds become JSON, which accepts any value. No column is NOT NULL, since later records may lack it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from engine import types
from engine.formats.timestamps import read_timestamp

Value: TypeAlias = object


class WrongValueError(Exception):
    """A value does not fit its column; the text is the reason, and `path` the place in the record."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.path: list[str] = []


class SpelledNumber(float):
    """A number with a point or an exponent, with its spelling."""

    text: str

    def __new__(cls, text: str) -> SpelledNumber:
        """Return the number of a text."""
        number = super().__new__(cls, text)
        number.text = text
        return number


@dataclass(frozen=True, slots=True)
class RawJson:
    """An unparsed value for a JSON column."""

    text: str


def _refuse_constant(name: str) -> Value:
    """Refuse the bare words NaN and Infinity, which Python accepts."""
    raise WrongValueError(f"it is not JSON: {name} is no number of JSON")


_DECODER = json.JSONDecoder(parse_float=SpelledNumber, parse_constant=_refuse_constant)
_BLANK = " \t\r\n"


def parse_record(text: str, kind: types.Struct | None) -> Value:
    """Return the value of the whole text; `kind` is the type of the record, None if nothing in it stays text."""
    try:
        if kind is not None and _has_json(kind):
            start = _skip(text, 0)
            value, end = _scan(text, start, kind)
            if _skip(text, end) != len(text):
                raise json.JSONDecodeError("Extra data", text, end)
            return value
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise WrongValueError(f"it is not JSON: {error.msg} at character {error.pos + 1}") from None
    except (RecursionError, IndexError):
        raise WrongValueError("it is JSON that cannot be read") from None


def _has_json(kind: types.Type) -> bool:
    match kind:
        case types.Json():
            return True
        case types.Struct(members):
            return any(_has_json(member.type) for member in members)
        case types.Array(element):
            return _has_json(element)
    return False


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _scan(text: str, at: int, kind: types.Type) -> tuple[Value, int]:
    """Return the value that starts at `at`, and where it ends; parts of type JSON stay text."""
    match kind:
        case types.Json():
            value, end = _DECODER.raw_decode(text, at)
            return (None if value is None else RawJson(text[at:end])), end
        case types.Struct(members) if _has_json(kind) and text[at : at + 1] == "{":
            return _scan_object(text, at, {member.name: member.type for member in members})
        case types.Array(element) if _has_json(kind) and text[at : at + 1] == "[":
            return _scan_array(text, at, element)
    return _DECODER.raw_decode(text, at)


def _scan_object(text: str, at: int, kinds: dict[str, types.Type]) -> tuple[Value, int]:
    members: dict[str, Value] = {}
    at = _skip(text, at + 1)
    if text[at : at + 1] == "}":
        return members, at + 1
    while True:
        if text[at : at + 1] != '"':
            raise json.JSONDecodeError("Expecting property name enclosed in double quotes", text, at)
        name, at = _DECODER.raw_decode(text, at)
        at = _skip(text, at)
        if text[at : at + 1] != ":":
            raise json.JSONDecodeError("Expecting ':' delimiter", text, at)
        members[name], at = _scan(text, _skip(text, at + 1), kinds.get(name, types.Null()))
        at = _skip(text, at)
        if text[at : at + 1] == "}":
            return members, at + 1
        if text[at : at + 1] != ",":
            raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
        at = _skip(text, at + 1)


def _scan_array(text: str, at: int, element: types.Type) -> tuple[Value, int]:
    values: list[Value] = []
    at = _skip(text, at + 1)
    if text[at : at + 1] == "]":
        return values, at + 1
    while True:
        value, at = _scan(text, at, element)
        values.append(value)
        at = _skip(text, at)
        if text[at : at + 1] == "]":
            return values, at + 1
        if text[at : at + 1] != ",":
            raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
        at = _skip(text, at + 1)


_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?", re.ASCII)
"""A timestamp. A date alone might be a text as well."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_MOST_DIGITS = 38
_MOST_MEMBERS = 200
"""Largest number of members of a struct; the keys of a larger object are data."""
_DEEPEST = 8
_WHOLE = types.BIGINT


@dataclass(frozen=True, slots=True)
class InferredColumns:
    """Names and types in the order of their appearance; `guessed` are columns with only NULL values, and `strangers`
    the number of records that were no objects."""

    columns: tuple[tuple[str, types.Type], ...]
    guessed: tuple[str, ...]
    records: int
    strangers: int


def infer_columns(records: Iterable[bytes]) -> InferredColumns:
    """Return the columns of some records."""
    whole, count, strangers = _Seen(), 0, 0
    for record in records:
        content = _read(record)
        if isinstance(content, dict):
            whole.add(content)
            count += 1
        else:
            strangers += 1
    columns = [(name, seen.type(1)) for name, seen in whole.members.items()]
    guessed = tuple(name for name, kind in columns if kind is None)
    return InferredColumns(tuple((name, kind or types.TEXT) for name, kind in columns), guessed, count, strangers)


@dataclass(slots=True)
class _Seen:
    """Kinds of the values at one place."""

    kinds: set[str] = field(default_factory=set)
    members: dict[str, _Seen] = field(default_factory=dict)
    element: _Seen | None = None

    def add(self, value: object) -> None:
        """Add a value."""
        if value is None:
            return
        self.kinds.add(_kind(value))
        if isinstance(value, dict):
            for name, part in value.items():
                self.members.setdefault(name, _Seen()).add(part)
        if isinstance(value, list):
            self.element = self.element or _Seen()
            for part in value:
                self.element.add(part)

    def type(self, depth: int) -> types.Type | None:
        """Return the common type of all values; None if there were none."""
        match sorted(self.kinds):
            case []:
                return None
            case ["bool"]:
                return types.BOOLEAN
            case ["whole"]:
                return _WHOLE
            case ["large"] | ["large", "whole"]:
                return types.Decimal(_MOST_DIGITS, 0)
            case ["instant"]:
                return types.TIMESTAMP
            case ["text"] | ["instant", "text"]:
                return types.TEXT
            case ["object"]:
                return self._struct(depth)
            case ["list"]:
                element = self.element.type(depth + 1) if self.element and depth < _DEEPEST else None
                return types.JSON if element is None or element == types.JSON else types.Array(element)
        return types.DOUBLE if self.kinds <= {"whole", "large", "number"} else types.JSON

    def _struct(self, depth: int) -> types.Type:
        members = list(self._members(depth))
        names = {name.lower() for name, _ in members}
        is_plain = all(_NAME.fullmatch(name) for name, _ in members) and len(names) == len(members)
        if not is_plain or not 0 < len(members) <= _MOST_MEMBERS or depth >= _DEEPEST:
            return types.JSON
        return types.Struct(tuple(types.Member(name, kind) for name, kind in members))

    def _members(self, depth: int) -> Iterator[tuple[str, types.Type]]:
        for name, seen in self.members.items():
            yield name, seen.type(depth + 1) or types.TEXT


def _kind(value: object) -> str:
    match value:
        case bool():
            return "bool"
        case int():
            return "whole" if _WHOLE.holds(value) else "large" if len(str(abs(value))) <= _MOST_DIGITS else "number"
        case float():
            return "number"
        case str():
            is_instant = _INSTANT.fullmatch(value) and read_timestamp(value) is not None
            return "instant" if is_instant else "text"
        case list():
            return "list"
    return "object"


def _read(record: bytes) -> object:
    """Return the value of a record; None if it is no JSON."""
    try:
        return json.loads(record, parse_constant=_refuse, parse_int=_read_whole)
    except (ValueError, RecursionError):
        return None


def _read_whole(text: str) -> int | float:
    return int(text) if len(text) <= _MOST_DIGITS + 1 else float(text)


def _refuse(name: str) -> object:
    raise ValueError(f"{name} is not JSON")
