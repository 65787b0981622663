"""Group rows with the same key by sorting.

keys                b a b a
order               1 3 0 2      the rows of a, then those of b
starts              0 2
first_rows          1 0
sum_of(5 6 7 8)     14 12
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

Longs: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"
Doubles: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float64]]"
Flags: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.bool_]]"


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows in the order of their keys: `order` lists the rows, `starts` has the start of each group in it. No group is
    empty. The order within a group is stable."""

    order: Longs
    starts: Longs

    @property
    def count(self) -> int:
        """Return the number of groups."""
        return len(self.starts)

    @property
    def first_rows(self) -> Longs:
        """The first row of each group."""
        return self.order[self.starts]

    @property
    def ends(self) -> Longs:
        """Return the end of each group in the order."""
        return np.append(self.starts, len(self.order))[1:]

    @property
    def numbers(self) -> Longs:
        """The group of each row, in order."""
        return np.repeat(np.arange(self.count), self.ends - self.starts)

    def sum_of(self, values: Longs) -> Longs:
        """The sum of each group, wrapping around silently: only for what is known to be small."""
        return np.add.reduceat(values[self.order], self.starts) if len(self.order) else values[:0]

    def greatest_of(self, values: Longs) -> Longs:
        """The greatest value of each group."""
        return np.maximum.reduceat(values[self.order], self.starts) if len(self.order) else values[:0]

    def least_of(self, values: Longs) -> Longs:
        """The least value of each group."""
        return np.minimum.reduceat(values[self.order], self.starts) if len(self.order) else values[:0]


def group_rows(*keys: Longs) -> Groups:
    """The groups of rows for which all keys are the same, in the order of the keys."""
    order = np.argsort(keys[0], kind="stable") if len(keys) == 1 else np.lexsort(keys[::-1])
    if not len(order):
        return Groups(order, order)
    changes = np.zeros(len(order), bool)
    changes[0] = True
    for key in keys:
        ordered = key[order]
        changes[1:] |= ordered[1:] != ordered[:-1]
    return Groups(order, np.flatnonzero(changes))


def longs(column: pa.Array | pa.ChunkedArray) -> Longs:
    """A column without NULL as whole numbers; instants are microseconds."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not pa.types.is_int64(column.type):
        column = column.cast(pa.int64())
    values: Longs = column.to_numpy(zero_copy_only=False)
    return values


def moments(column: pa.Array | pa.ChunkedArray) -> Longs:
    """Event times in microseconds; a row without one is as old as can be."""
    return longs(column.cast(pa.int64()).fill_null(0))


def flags(column: pa.Array | pa.ChunkedArray) -> Flags:
    """A column of truth values; NULL counts as false."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    values: Flags = column.fill_null(False).to_numpy(zero_copy_only=False)
    return values


def valid(column: pa.Array) -> Flags:
    """Return a mask of the values that are not NULL."""
    if column.null_count == 0:
        return np.ones(len(column), bool)
    values: Flags = column.is_valid().to_numpy(zero_copy_only=False)
    return values


def ranges(starts: Longs, counts: Longs) -> Longs:
    """All positions of several ranges, one after the other."""
    total = int(counts.sum())
    if total == 0:
        return np.zeros(0, np.int64)
    ends = np.cumsum(counts)
    inside = np.arange(total) - np.repeat(ends - counts, counts)
    return np.repeat(starts, counts) + inside
