"""JSONPath as in RFC 9535: `$.items[?@.price > 1].name`, `$..id`, `$[-1]`, `$[0:2]`, `$['a','b'].*`.

docs/decisions/jsonpath-is-read-by-us.md explains why no library is used, and the differences from the RFC.

Filters of JSONPath, `@.price > 1 && !(@.sold || @.name == 'x')`, and their functions.

A filter contains paths, whose filters contain paths, so the parser of path segments is a parameter. Operands are lists
of values, as in the RFC: for `{"n": 1}`, `@.n` is [1] and `@.m` is [], which equals another [] and is neither less nor
greater than anything.

Evaluate a JSONPath: a path is a sequence of segments, a segment one or more selectors.

    $                  {"items": [{"n": 1}, {"n": 2}, {"n": 3}]}
    ..items            [{"n": 1}, {"n": 2}, {"n": 3}]                descends, by name
    [0, -1]            {"n": 1} and {"n": 3}                         by index, twice
    .n                 1 and 3                                       by name

A segment applies all of its selectors to the first value before it goes to the second.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

_BLANKS = re.compile(r"[ \t\r\n]*")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "/": "/", "\\": "\\", "'": "'", '"': '"'}


class Scanner:
    """A text and the position in it. Raises ValueError if the expected token is missing."""

    def __init__(self, text: str) -> None:
        self._text, self.position = text, 0

    @property
    def unread(self) -> str:
        """The text that is not read yet."""
        return self._text[self.position :]

    def take(self, mark: str) -> bool:
        """Whether the text continues with this; then it is consumed."""
        comes_next = self._text.startswith(mark, self.position)
        self.position += len(mark) if comes_next else 0
        return comes_next

    def expect(self, mark: str) -> None:
        """Consume this text, which must come next."""
        if not self.take(mark):
            raise ValueError(self.unread)

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Consume the next token if it matches the pattern."""
        match = pattern.match(self._text, self.position)
        self.position = match.end() if match else self.position
        return match

    def skip_blanks(self) -> None:
        """Read blanks."""
        self.match(_BLANKS)

    def quoted(self) -> str | None:
        """Return a text in single or double quotes, if one comes next."""
        mark = self._text[self.position : self.position + 1]
        if mark not in ("'", '"'):
            return None
        match = self.match(re.compile(rf"{mark}((?:[^{mark}\\]|\\.)*){mark}", re.DOTALL))
        if match is None:
            raise ValueError(self.unread)
        return _ESCAPE.sub(_unescape, match[1])


def _unescape(escape: re.Match[str]) -> str:
    code = escape[1]
    if len(code) == 5:
        return chr(int(code[1:], 16))
    if code not in _ESCAPED:
        raise ValueError(code)
    return _ESCAPED[code]


Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"
Selector: TypeAlias = Callable[[Json, Json], Iterator[Json]]
"""Selects values inside a value, given the root and the value."""
Condition: TypeAlias = Callable[[Json, Json], bool]
"""Tests a value, given the root and the value."""


@dataclass(frozen=True, slots=True)
class PathSegment:
    """Selectors of one segment; if it `descends`, they apply to the values and all their descendants."""

    selectors: tuple[Selector, ...]
    descends: bool = False


def select(root: Json, start: Json, segments: Sequence[PathSegment]) -> list[Json]:
    """Return the values that a chain of segments selects, starting at a value."""
    values = [start]
    for segment in segments:
        if segment.descends:
            values = [below for value in values for below in _descendants(value)]
        values = [hit for value in values for selector in segment.selectors for hit in selector(root, value)]
    return values


def every_child(_: Json, value: Json) -> Iterator[Json]:
    """Yield the elements of an array, or the values of an object."""
    match value:
        case dict():
            yield from value.values()
        case list():
            yield from value


def by_name(name: str) -> Selector:
    """Return the member of an object."""

    def select_member(_: Json, value: Json) -> Iterator[Json]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return select_member


def by_index(index: int) -> Selector:
    """Return the element of an array, counted from its end when negative."""

    def select_element(_: Json, value: Json) -> Iterator[Json]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            yield value[index]

    return select_element


def by_slice(start: int | None, end: int | None, step: int) -> Selector:
    """Select elements of an array, like a Python slice; none if the step is zero."""

    def select_elements(_: Json, value: Json) -> Iterator[Json]:
        if isinstance(value, list) and step:
            yield from value[start:end:step]

    return select_elements


def by_condition(condition: Condition) -> Selector:
    """Return the children for which a condition is true."""
    return lambda root, value: (child for child in every_child(root, value) if condition(root, child))


def _descendants(value: Json) -> Iterator[Json]:
    yield value
    for child in every_child(None, value):
        yield from _descendants(child)


Query: TypeAlias = Callable[[Json], list[Json]]

_NAME = re.compile(r"[A-Za-z_\u0080-\U0010ffff][A-Za-z0-9_\u0080-\U0010ffff]*")
_INDEX = re.compile(r"0|-?[1-9][0-9]*")
_SLICE = re.compile(r"\s*(-?[0-9]+)?\s*:\s*(-?[0-9]+)?\s*(?::\s*(-?[0-9]+)?)?")


@lru_cache(maxsize=256)
def read_path(text: str) -> Query | None:
    """Parse a JSON path into a function that returns the matching values in order; None if the text is no path."""
    scanner = Scanner(text)
    try:
        scanner.expect("$")
        segments = _segments(scanner)
    except ValueError:
        return None
    return None if scanner.unread else lambda root: select(root, root, segments)


def _segments(scanner: Scanner) -> tuple[PathSegment, ...]:
    """Return all segments that follow each other; blanks behind the last one stay unread."""
    segments: list[PathSegment] = []
    while True:
        end = scanner.position
        scanner.skip_blanks()
        if scanner.take(".."):
            selectors = _bracketed(scanner) if scanner.take("[") else (_shorthand(scanner),)
            segments.append(PathSegment(selectors, descends=True))
        elif scanner.take("."):
            segments.append(PathSegment((_shorthand(scanner),)))
        elif scanner.take("["):
            segments.append(PathSegment(_bracketed(scanner)))
        else:
            scanner.position = end
            return tuple(segments)


def _shorthand(scanner: Scanner) -> Selector:
    if scanner.take("*"):
        return every_child
    name = scanner.match(_NAME)
    if name is None:
        raise ValueError(scanner.unread)
    return by_name(name[0])


def _bracketed(scanner: Scanner) -> tuple[Selector, ...]:
    selectors = []
    while True:
        scanner.skip_blanks()
        selectors.append(_selector(scanner))
        scanner.skip_blanks()
        if scanner.take("]"):
            return tuple(selectors)
        scanner.expect(",")


def _selector(scanner: Scanner) -> Selector:
    if scanner.take("*"):
        return every_child
    if scanner.take("?"):
        return by_condition(ConditionReader(scanner, _segments).condition())
    name = scanner.quoted()
    if name is not None:
        return by_name(name)
    bounds = scanner.match(_SLICE)
    if bounds is not None:
        start, end, step = (None if number is None else int(number) for number in bounds.groups())
        return by_slice(start, end, 1 if step is None else step)
    index = scanner.match(_INDEX)
    if index is None:
        raise ValueError(scanner.unread)
    return by_index(int(index[0]))


_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORD = re.compile(r"(true|false|null)(?![A-Za-z0-9_])")
_CALL = re.compile(r"(length|count|value|match|search)\(")
_COMPARISON = re.compile(r"==|!=|<=|>=|<|>")

Operand: TypeAlias = Callable[[Json, Json], list[Json]]
"""Values of an operand: one for a constant, any number for a path."""


@dataclass(frozen=True, slots=True)
class ConditionReader:
    """Parses filters; raises ValueError for invalid ones. `read_segments` parses a path in them."""

    scanner: Scanner
    read_segments: Callable[[Scanner], tuple[PathSegment, ...]]

    def condition(self) -> Condition:
        """Return the condition that comes next."""
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
        """Return an operand and its kind: alone, a path asks whether there is something, and a value is no
        condition."""
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
