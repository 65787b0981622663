"""JSONPath as in RFC 9535: `$.items[?@.price > 1].name`, `$..id`, `$[-1]`, `$[0:2]`, `$['a','b'].*`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TypeAlias

import engine.functions.parsers.json_filter as filters

Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"
Query: TypeAlias = Callable[[Json], list[Json]]
Selector: TypeAlias = Callable[[Json, Json], Iterator[Json]]
"""From the root and a value to what is selected inside the value."""

_NAME = re.compile(r"[A-Za-z_\u0080-\U0010ffff][A-Za-z0-9_\u0080-\U0010ffff]*")
_INDEX = re.compile(r"0|-?[1-9][0-9]*")
_SLICE = re.compile(r"\s*(-?[0-9]+)?\s*:\s*(-?[0-9]+)?\s*(?::\s*(-?[0-9]+)?)?")
_BLANK = re.compile(r"[ \t\r\n]*")


@lru_cache(maxsize=256)
def read_path(text: str) -> Query | None:
    """What finds the values of a path inside a JSON value, in order; None when the text is no path."""
    reader = Reader(text)
    try:
        if not reader.take("$"):
            return None
        segments = reader.segments()
    except ValueError:
        return None
    return None if reader.rest else lambda root: select(root, root, segments)


def select(root: Json, start: Json, segments: tuple[tuple[bool, tuple[Selector, ...]], ...]) -> list[Json]:
    """What a chain of segments finds, beginning at a value."""
    found = [start]
    for descends, selectors in segments:
        places = [below for one in found for below in _descendants(one)] if descends else found
        found = [hit for one in places for selector in selectors for hit in selector(root, one)]
    return found


class Reader:
    """Reads a path from left to right; what cannot be read raises ValueError."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    @property
    def rest(self) -> str:
        """What is not read yet."""
        return self._text[self._at :]

    def take(self, mark: str) -> bool:
        """Whether this is what comes next; then it is read."""
        found = self._text.startswith(mark, self._at)
        self._at += len(mark) if found else 0
        return found

    def expect(self, mark: str) -> None:
        """Read what must come next."""
        if not self.take(mark):
            raise ValueError(self.rest)

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """What comes next, if it fits; then it is read."""
        found = pattern.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return found

    def skip(self) -> None:
        """Read blanks."""
        self.match(_BLANK)

    def segments(self) -> tuple[tuple[bool, tuple[Selector, ...]], ...]:
        """All segments that follow each other, each with whether it looks at all that lies below."""
        found = []
        while True:
            before = self._at
            self.skip()
            if self.take(".."):
                found.append((True, self._selectors() if self.take("[") else (self._short(),)))
            elif self.take("."):
                found.append((False, (self._short(),)))
            elif self.take("["):
                found.append((False, self._selectors()))
            else:
                self._at = before
                return tuple(found)

    def _short(self) -> Selector:
        if self.take("*"):
            return _everything
        name = self.match(_NAME)
        if name is None:
            raise ValueError(self.rest)
        return _named(name[0])

    def _selectors(self) -> tuple[Selector, ...]:
        found = []
        while True:
            self.skip()
            found.append(self._selector())
            self.skip()
            if self.take("]"):
                return tuple(found)
            self.expect(",")

    def _selector(self) -> Selector:
        if self.take("*"):
            return _everything
        if self.take("?"):
            condition = filters.read_condition(self)
            return lambda root, value: (one for one in _everything(root, value) if condition(root, one))
        text = self.quoted()
        if text is not None:
            return _named(text)
        part = self.match(_SLICE)
        if part is not None:
            first, last, step = (None if number is None else int(number) for number in part.groups())
            return _sliced(first, last, 1 if step is None else step)
        index = self.match(_INDEX)
        if index is None:
            raise ValueError(self.rest)
        return _indexed(int(index[0]))

    def quoted(self) -> str | None:
        """A text in single or double quotes, if one comes next."""
        mark = self._text[self._at : self._at + 1]
        if mark not in ("'", '"'):
            return None
        found = self.match(re.compile(rf"{mark}((?:[^{mark}\\]|\\.)*){mark}", re.DOTALL))
        if found is None:
            raise ValueError(self.rest)
        return re.sub(r"\\(u[0-9a-fA-F]{4}|.)", _unescaped, found[1], flags=re.DOTALL)


def _unescaped(found: re.Match[str]) -> str:
    mark = found[1]
    if len(mark) == 5:
        return chr(int(mark[1:], 16))
    plain = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", **{one: one for one in "/\\'\""}}
    if mark not in plain:
        raise ValueError(mark)
    return plain[mark]


def _everything(_: Json, value: Json) -> Iterator[Json]:
    match value:
        case dict():
            yield from value.values()
        case list():
            yield from value


def _named(name: str) -> Selector:
    def chosen(_: Json, value: Json) -> Iterator[Json]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return chosen


def _indexed(index: int) -> Selector:
    def chosen(_: Json, value: Json) -> Iterator[Json]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            yield value[index]

    return chosen


def _sliced(first: int | None, last: int | None, step: int) -> Selector:
    def chosen(_: Json, value: Json) -> Iterator[Json]:
        if isinstance(value, list) and step:
            yield from value[first:last:step]

    return chosen


def _descendants(value: Json) -> Iterator[Json]:
    yield value
    for below in _everything(None, value):
        yield from _descendants(below)
