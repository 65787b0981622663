"""Parse the text of a record, but leave values of type JSON as text.

Python's own parser would lose the spelling of a number (1.10 is 1.1) and the text of a value for a JSON column. For
`doc JSON, n DECIMAL`, the record

    {"doc": {"a": 1.0}, "n": 1.10}   gives   {"doc": RawJson('{"a": 1.0}'), "n": SpelledNumber("1.10")}

Without JSON columns, Python's parser does all of it; otherwise we descend to the values of that type, and it parses all
others.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TypeAlias

from engine import types

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
        """The number of a text."""
        number = super().__new__(cls, text)
        number.text = text
        return number


@dataclass(frozen=True, slots=True)
class RawJson:
    """An unparsed value for a JSON column."""

    text: str


def _refuse_constant(name: str) -> Value:
    """Refuse NaN and Infinity as bare words, which Python would take."""
    raise WrongValueError(f"it is not JSON: {name} is no number of JSON")


_DECODER = json.JSONDecoder(parse_float=SpelledNumber, parse_constant=_refuse_constant)
_BLANK = " \t\r\n"


def parse_record(text: str, kind: types.Struct | None) -> Value:
    """The value that the whole text is; `kind` is the type of the record, None when nothing in it stays text."""
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
    """The value that starts at `at`, and where it ends; parts of type JSON stay text."""
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
