"""Interface of accumulators, which store the values of a group in mergeable columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import pyarrow as pa

from engine.types import Type
from engine.udf.declared import Udf
from engine.updating.groups import Groups, Longs


class Accumulator(Protocol):
    """Values of a group, summarised in columns. The columns of two parts of a group, one below the other, can be merged
    into those of the whole."""

    def start(self, arguments: Sequence[pa.Array], weights: Longs, groups: Groups) -> list[pa.Array]:
        """The columns for each group of rows. A row counts as often as its weight says, which may be negative."""

    def merge(self, columns: Sequence[pa.Array], groups: Groups) -> list[pa.Array]:
        """The columns for each group, from those of its parts."""

    def finish(self, columns: Sequence[pa.Array]) -> pa.Array:
        """The result for each row of columns, in the Arrow type of the result."""


@dataclass(frozen=True, slots=True)
class Sorting:
    """Order of the rows of a group by another value: its type, the direction, and the position of NULL."""

    type: Type
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Measure:
    """One aggregate of a query: its function, the types of its arguments and its result. `udf` is a user-defined class
    that gets rows one by one."""

    function: str
    arguments: tuple[Type, ...]
    result: Type
    distinct: bool = False
    has_condition: bool = False
    order: tuple[Sorting, ...] = ()
    udf: Udf | None = None


class Mergeable:
    """An accumulator whose columns are whole numbers that are added."""

    width: ClassVar[int]

    def merge(self, columns: Sequence[pa.Array], groups: Groups) -> list[pa.Array]:
        """The sum of each column."""
        return [pa.array(groups.sum_of(column.to_numpy(zero_copy_only=False))) for column in columns]
