"""What an accumulator is: how the values of a group are kept, in columns, so that they can be put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import pyarrow as pa

from engine.types import Type
from engine.udf.declared import Udf
from engine.updating.groups import Groups, Longs


class Accumulator(Protocol):
    """Values of a group, summed up in columns. The columns of two halves of a group, one below the other, can be merged
    into those of the whole."""

    def start(self, arguments: Sequence[pa.Array], weights: Longs, groups: Groups) -> list[pa.Array]:
        """The columns for each group of rows. A row counts as often as its weight says, which may be negative."""

    def merge(self, columns: Sequence[pa.Array], groups: Groups) -> list[pa.Array]:
        """The columns for each group, from those of its parts."""

    def finish(self, columns: Sequence[pa.Array]) -> pa.Array:
        """The result for each row of columns, in the Arrow type of the result."""


@dataclass(frozen=True, slots=True)
class Sorting:
    """How the rows that a function sees are ordered by a further value: its type, the direction, and where
    NULL goes."""

    type: Type
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Measure:
    """One aggregate of a query: the declared function, the types of its arguments and of its result. `udf` is the
    user's class that takes rows one by one."""

    function: str
    arguments: tuple[Type, ...]
    result: Type
    distinct: bool = False
    has_condition: bool = False
    order: tuple[Sorting, ...] = ()
    udf: Udf | None = None


class Mergeable:
    """An accumulator whose columns are whole numbers that are added up."""

    width: ClassVar[int]

    def merge(self, columns: Sequence[pa.Array], groups: Groups) -> list[pa.Array]:
        """The sum of each column."""
        return [pa.array(groups.sum_of(column.to_numpy(zero_copy_only=False))) for column in columns]
