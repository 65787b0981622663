"""What the parts of a JSONPath select: a path is a chain of segments, a segment one selector or several side by side.

    $                  {"items": [{"n": 1}, {"n": 2}, {"n": 3}]}
    ..items            [{"n": 1}, {"n": 2}, {"n": 3}]                descends, by name
    [0, -1]            {"n": 1} and {"n": 3}                         by index, twice
    .n                 1 and 3                                       by name

A segment applies all of its selectors to the first value before it comes to the second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"
Selector: TypeAlias = Callable[[Json, Json], Iterator[Json]]
"""From the root and a value to what is selected inside the value."""
Condition: TypeAlias = Callable[[Json, Json], bool]
"""Whether something is true of a value, given the root and the value."""


@dataclass(frozen=True, slots=True)
class PathSegment:
    """Selectors side by side; one that `descends` applies them to the values and to all that lies below them."""

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
    """The elements of an array, or the values of an object."""
    match value:
        case dict():
            yield from value.values()
        case list():
            yield from value


def by_name(name: str) -> Selector:
    """The member of an object."""

    def select_member(_: Json, value: Json) -> Iterator[Json]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return select_member


def by_index(index: int) -> Selector:
    """The element of an array, counted from its end when negative."""

    def select_element(_: Json, value: Json) -> Iterator[Json]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            yield value[index]

    return select_element


def by_slice(start: int | None, end: int | None, step: int) -> Selector:
    """Elements of an array, as Python slices it; nothing when the step is zero."""

    def select_elements(_: Json, value: Json) -> Iterator[Json]:
        if isinstance(value, list) and step:
            yield from value[start:end:step]

    return select_elements


def by_condition(condition: Condition) -> Selector:
    """The children of which a condition is true."""
    return lambda root, value: (child for child in every_child(root, value) if condition(root, child))


def _descendants(value: Json) -> Iterator[Json]:
    yield value
    for child in every_child(None, value):
        yield from _descendants(child)
