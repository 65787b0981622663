"""The conditions of JSONPath, `@.price > 1 && !(@.sold || @.name == 'x')`, and the functions they may call.

A condition holds paths, whose conditions hold paths: whoever reads a condition says how the segments of a path are
read. Operands are lists of values, as in the RFC: of `{"n": 1}`, `@.n` stands for [1] and `@.m` for [], which is
equal to another [] and neither less nor greater than anything.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from engine.functions.parsers.json_scanner import Scanner
from engine.functions.parsers.json_selectors import Condition, Json, PathSegment, select

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORD = re.compile(r"(true|false|null)(?![A-Za-z0-9_])")
_CALL = re.compile(r"(length|count|value|match|search)\(")
_COMPARISON = re.compile(r"==|!=|<=|>=|<|>")

Operand: TypeAlias = Callable[[Json, Json], list[Json]]
"""The values that an operand stands for: one for a constant, none or several for a path."""


@dataclass(frozen=True, slots=True)
class ConditionReader:
    """Reads conditions; what cannot be read raises ValueError. `read_segments` reads those of a path."""

    scanner: Scanner
    read_segments: Callable[[Scanner], tuple[PathSegment, ...]]

    def condition(self) -> Condition:
        """The condition that comes next."""
        parts = [self._all_of()]
        while self._takes("||"):
            parts.append(self._all_of())
        return parts[0] if len(parts) == 1 else lambda root, value: any(part(root, value) for part in parts)

    def _all_of(self) -> Condition:
        parts = [self._basic()]
        while self._takes("&&"):
            parts.append(self._basic())
        return parts[0] if len(parts) == 1 else lambda root, value: all(part(root, value) for part in parts)

    def _takes(self, mark: str) -> bool:
        self.scanner.skip_blanks()
        return self.scanner.take(mark)

    def _basic(self) -> Condition:
        if self._takes("!"):
            inside = self._basic()
            return lambda root, value: not inside(root, value)
        if self.scanner.take("("):
            inside = self.condition()
            self.scanner.skip_blanks()
            self.scanner.expect(")")
            return inside
        return self._comparison()

    def _comparison(self) -> Condition:
        left, kind = self._operand()
        self.scanner.skip_blanks()
        sign = self.scanner.match(_COMPARISON)
        if sign is None:
            if kind == "value":
                raise ValueError(self.scanner.unread)
            return lambda root, value: bool(left(root, value)) if kind == "path" else left(root, value) == [True]
        right, _ = self._operand()
        compare = _SIGNS[sign[0]]
        return lambda root, value: compare(left(root, value), right(root, value))

    def _operand(self) -> tuple[Operand, Literal["path", "truth", "value"]]:
        """An operand and its kind: alone, a path asks whether there is something, and a value is no condition."""
        self.scanner.skip_blanks()
        if self.scanner.take("@"):
            segments = self.read_segments(self.scanner)
            return lambda root, value: select(root, value, segments), "path"
        if self.scanner.take("$"):
            segments = self.read_segments(self.scanner)
            return lambda root, _: select(root, root, segments), "path"
        call = self.scanner.match(_CALL)
        if call is not None:
            arguments = [self._operand()[0]]
            while self._takes(","):
                arguments.append(self._operand()[0])
            self.scanner.expect(")")
            return _call(call[1], arguments), "truth" if call[1] in ("match", "search") else "value"
        constant = self._constant()
        return lambda _root, _value: [constant], "value"

    def _constant(self) -> Json:
        text = self.scanner.quoted()
        if text is not None:
            return text
        word = self.scanner.match(_WORD)
        if word is not None:
            return {"true": True, "false": False}.get(word[1])
        number = self.scanner.match(_NUMBER)
        if number is None:
            raise ValueError(self.scanner.unread)
        return float(number[0]) if number[1] or number[2] else int(number[0])


def _call(name: str, arguments: list[Operand]) -> Operand:
    if len(arguments) != (2 if name in ("match", "search") else 1):
        raise ValueError(name)
    function = _FUNCTIONS[name]
    return lambda root, value: function(*(argument(root, value) for argument in arguments))


def _length(values: list[Json]) -> list[Json]:
    return [len(value) for value in values[:1] if isinstance(value, str | list | dict)]


def _pattern_test(whole: bool) -> Callable[[list[Json], list[Json]], list[Json]]:
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
    "match": _pattern_test(whole=True),
    "search": _pattern_test(whole=False),
}


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _equal(left: list[Json], right: list[Json]) -> bool:
    if not left or not right:
        return not left and not right
    a, b = left[0], right[0]
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def _in_order(compare: Callable[..., bool]) -> Callable[[list[Json], list[Json]], bool]:
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
    "<": _in_order(operator.lt),
    ">": _in_order(operator.gt),
    "<=": lambda left, right: _in_order(operator.le)(left, right) or _equal(left, right),
    ">=": lambda left, right: _in_order(operator.ge)(left, right) or _equal(left, right),
}
