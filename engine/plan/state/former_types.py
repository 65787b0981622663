"""The types that values were in before their numbers became wider, for operators that know them by hashes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from engine.plan.state.width_marks import kind_of_mark, mark_of
from engine.types import Type

Former: TypeAlias = tuple[Type, ...]
"""The types that a value was in, the narrowest first."""
Formers: TypeAlias = tuple[tuple[Former, ...], ...]
"""Those of all values that an operator hashes, in the groups of `engine.plan.state.hashed.hashed_in`."""
FormersText: TypeAlias = tuple[tuple[tuple[str, ...], ...], ...]
"""The same in words that can be kept."""


def to_text(kind: Type) -> str:
    """A type of numbers in a word."""
    mark = mark_of(kind)
    assert mark is not None, kind
    return mark.strip("⟦⟧")


def formers_of(texts: FormersText) -> Formers:
    """Parse the former types that were stored; raise ValueError for anything else."""
    return tuple(tuple(tuple(map(kind_of_mark, former)) for former in group) for group in texts)


def group(formers: Formers, place: int, size: int) -> Sequence[Former]:
    """Return the former types of one group of `size` values; none if no type was widened."""
    return formers[place] if formers else ((),) * size
