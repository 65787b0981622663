"""JSONPath as in RFC 9535: `$.items[?@.price > 1].name`, `$..id`, `$[-1]`, `$[0:2]`, `$['a','b'].*`.

docs/decisions/jsonpath-is-read-by-us.md says why no library does it, and where this differs from the RFC.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

from engine.functions.parsers.json_filter import ConditionReader
from engine.functions.parsers.json_scanner import Scanner
from engine.functions.parsers.json_selectors import (
    Json,
    PathSegment,
    Selector,
    by_condition,
    by_index,
    by_name,
    by_slice,
    every_child,
    select,
)

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
    """All segments that follow each other; blanks behind the last one stay unread."""
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
