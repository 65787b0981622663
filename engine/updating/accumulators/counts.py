"""Accumulators that count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.types import Type
from engine.udf.declared import Udf
from engine.updating.groups import Flags, Groups, Longs, flags, valid


class Accumulator(Protocol):
    """Values of a group, summarised in columns. The columns of two parts of a group, one below the other, can be merged
    into those of the whole."""

    def start(self, arguments: Sequence[pa.Array], weights: Longs, groups: Groups) -> list[pa.Array]:
        """Return the columns for each group of rows. A row counts as often as its weight, which may be negative."""

    def merge(self, columns: Sequence[pa.Array], groups: Groups) -> list[pa.Array]:
        """Return the columns for each group, from those of its parts."""

    def finish(self, columns: Sequence[pa.Array]) -> pa.Array:
        """Return the result for each row of columns, in the Arrow type of the result."""


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
        """Return the sum of each column."""
        return [pa.array(groups.sum_of(column.to_numpy(zero_copy_only=False))) for column in columns]


def present(arguments: Sequence[pa.Array], rows: int) -> Flags:
    """Return a mask of the rows in which no argument is NULL."""
    return reduce(np.logical_and, [valid(argument) for argument in arguments], np.ones(rows, bool))


@dataclass(frozen=True, slots=True)
class Count(Mergeable):
    """Number of rows with all arguments."""

    def start(self, arguments: Sequence[pa.Array], weights: Longs, groups: Groups) -> list[pa.Array]:
        """Return one column: the count."""
        return [pa.array(groups.sum_of(weights * present(arguments, len(weights))))]

    def finish(self, columns: Sequence[pa.Array]) -> pa.Array:
        """Return the count itself."""
        return columns[0]


@dataclass(frozen=True, slots=True)
class Every(Mergeable):
    """Whether all values are true or, with `any_will_do`, at least one."""

    any_will_do: bool

    def start(self, arguments: Sequence[pa.Array], weights: Longs, groups: Groups) -> list[pa.Array]:
        """Return two columns: how many are true, how many are false."""
        true = flags(arguments[0])
        false = flags(pc.invert(arguments[0]))
        return [pa.array(groups.sum_of(weights * true)), pa.array(groups.sum_of(weights * false))]

    def finish(self, columns: Sequence[pa.Array]) -> pa.Array:
        """Return the results; NULL if there is no value."""
        true, false = (column.to_numpy(zero_copy_only=False) for column in columns)
        result = true > 0 if self.any_will_do else false == 0
        return pa.array(result, mask=(true == 0) & (false == 0))


@dataclass(frozen=True, slots=True)
class ExclusiveOr:
    """Per bit, whether an odd number of values has it; a retraction counts as one more."""

    type: pa.DataType

    def start(self, arguments: Sequence[pa.Array], weights: Longs, groups: Groups) -> list[pa.Array]:
        """Return two columns: the bits, how many values there are."""
        is_valid = valid(arguments[0])
        values = arguments[0].fill_null(0).cast(pa.int64()).to_numpy(zero_copy_only=False)
        return self._fold(values * (weights % 2 != 0), weights * is_valid, groups)

    def merge(self, columns: Sequence[pa.Array], groups: Groups) -> list[pa.Array]:
        """Return the bits of both, and the sum."""
        bits, counts = (column.to_numpy(zero_copy_only=False) for column in columns)
        return self._fold(bits, counts, groups)

    def finish(self, columns: Sequence[pa.Array]) -> pa.Array:
        """Return the results; NULL if there is no value."""
        counts = columns[1].to_numpy(zero_copy_only=False)
        return pa.array(columns[0].to_numpy(zero_copy_only=False), mask=counts == 0).cast(self.type)

    def _fold(self, bits: Longs, counts: Longs, groups: Groups) -> list[pa.Array]:
        folded = np.bitwise_xor.reduceat(bits[groups.order], groups.starts) if groups.count else bits[:0]
        return [pa.array(folded), pa.array(groups.sum_of(counts))]
