"""The conditions of JSONPath: `@.price > 1 && !(@.sold || @.name == 'x')`, and the functions they may call."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from engine.functions.parsers.json_path import Json, Reader

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORD = re.compile(r"(true|false|null)(?![A-Za-z0-9_])")
_CALL = re.compile(r"(length|count|value|match|search)\(")
_COMPARED = re.compile(r"==|!=|<=|>=|<|>")

Condition: TypeAlias = "Callable[[Json, Json], bool]"
Operand: TypeAlias = "Callable[[Json, Json], list[Json]]"
"""The values that an operand stands for: one for a constant, none or several for a path."""


def read_condition(reader: Reader) -> Condition:
    """The condition that comes next."""
    parts = [_all_of(reader)]
    while _takes(reader, "||"):
        parts.append(_all_of(reader))
    return parts[0] if len(parts) == 1 else lambda root, value: any(part(root, value) for part in parts)


def _all_of(reader: Reader) -> Condition:
    parts = [_basic(reader)]
    while _takes(reader, "&&"):
        parts.append(_basic(reader))
    return parts[0] if len(parts) == 1 else lambda root, value: all(part(root, value) for part in parts)


def _takes(reader: Reader, mark: str) -> bool:
    reader.skip()
    return reader.take(mark)


def _basic(reader: Reader) -> Condition:
    if _takes(reader, "!"):
        inside = _basic(reader)
        return lambda root, value: not inside(root, value)
    if reader.take("("):
        inside = read_condition(reader)
        reader.skip()
        reader.expect(")")
        return inside
    return _comparison(reader)


def _comparison(reader: Reader) -> Condition:
    left, kind = _operand(reader)
    reader.skip()
    sign = reader.match(_COMPARED)
    if sign is None:
        if kind == "value":
            raise ValueError(reader.rest)
        return lambda root, value: bool(left(root, value)) if kind == "path" else left(root, value) == [True]
    right, _ = _operand(reader)
    compare = _SIGNS[sign[0]]
    return lambda root, value: compare(left(root, value), right(root, value))


def _operand(reader: Reader) -> tuple[Operand, Literal["path", "truth", "value"]]:
    """An operand and its kind: alone, a path asks whether there is something, and a value is no condition."""
    from engine.functions.parsers.json_path import select  # noqa: PLC0415 - a path holds conditions, which hold paths

    reader.skip()
    if reader.rest[:1] in ("@", "$"):
        of_value = reader.take("@") or not reader.take("$")
        segments = reader.segments()
        return lambda root, value: select(root, value if of_value else root, segments), "path"
    call = reader.match(_CALL)
    if call is not None:
        arguments = [_operand(reader)[0]]
        while _takes(reader, ","):
            arguments.append(_operand(reader)[0])
        reader.expect(")")
        return _called(call[1], arguments), "truth" if call[1] in ("match", "search") else "value"
    constant = _constant(reader)
    return lambda _root, _value: [constant], "value"


def _constant(reader: Reader) -> Json:
    text = reader.quoted()
    if text is not None:
        return text
    word = reader.match(_WORD)
    if word is not None:
        return {"true": True, "false": False}.get(word[1])
    number = reader.match(_NUMBER)
    if number is None:
        raise ValueError(reader.rest)
    return float(number[0]) if number[1] or number[2] else int(number[0])


def _called(name: str, arguments: list[Operand]) -> Operand:
    if len(arguments) != (2 if name in ("match", "search") else 1):
        raise ValueError(name)
    function = _FUNCTIONS[name]
    return lambda root, value: function(*(one(root, value) for one in arguments))


def _length(values: list[Json]) -> list[Json]:
    return [len(one) for one in values[:1] if isinstance(one, str | list | dict)]


def _matched(whole: bool) -> Callable[[list[Json], list[Json]], list[Json]]:
    def test(texts: list[Json], patterns: list[Json]) -> list[Json]:
        if len(texts) != 1 or len(patterns) != 1:
            return [False]
        text, pattern = texts[0], patterns[0]
        if not isinstance(text, str) or not isinstance(pattern, str):
            return [False]
        try:
            expression = re.compile(pattern)
        except re.error:
            return [False]
        return [(expression.fullmatch(text) if whole else expression.search(text)) is not None]

    return test


_FUNCTIONS: dict[str, Callable[..., list[Json]]] = {
    "length": _length,
    "count": lambda values: [len(values)],
    "value": lambda values: values if len(values) == 1 else [],
    "match": _matched(whole=True),
    "search": _matched(whole=False),
}


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _equal(left: list[Json], right: list[Json]) -> bool:
    if not left or not right:
        return not left and not right
    a, b = left[0], right[0]
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def _ordered(compare: Callable[..., bool]) -> Callable[[list[Json], list[Json]], bool]:
    def test(left: list[Json], right: list[Json]) -> bool:
        if len(left) != 1 or len(right) != 1:
            return False
        a, b = left[0], right[0]
        alike = (isinstance(a, str) and isinstance(b, str)) or (_is_number(a) and _is_number(b))
        return alike and compare(a, b)

    return test


_SIGNS: dict[str, Callable[[list[Json], list[Json]], bool]] = {
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "<": _ordered(operator.lt),
    ">": _ordered(operator.gt),
    "<=": lambda left, right: _ordered(operator.le)(left, right) or _equal(left, right),
    ">=": lambda left, right: _ordered(operator.ge)(left, right) or _equal(left, right),
}
