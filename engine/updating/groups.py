"""Group rows with the same key by sorting.

keys                b a b a
order               1 3 0 2      the rows of a, then those of b
starts              0 2
first_rows          1 0
sum_of(5 6 7 8)     14 12

Ids of rows that are combined from other ids: equal parts give equal ids.

Operators store them, and sinks know them, so the computation must never change.

Changelog rows from two versions of a table.

    before     1: (a, 2)   2: (b, 5)   3: (c, 7)
    after      1: (a, 3)   2: (b, 5)                4: (d, 1)
    changes    1: -(a, 2)  1: +(a, 3)  3: -(c, 7)   4: +(d, 1)

See docs/decisions/changes-are-folded-at-the-sink.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.plan.tree import EVENT_TIME, RETRACT, ROW_ID

_SPREAD = np.int64(-0x61C8864680B583EB)
"""2**64 divided by the golden ratio, made odd: multiplication by it spreads neighbouring numbers."""


def mixed(numbers: Longs) -> Longs:
    """Return the numbers with every bit spread over all others."""
    with np.errstate(over="ignore"):
        multiplied: Longs = (numbers ^ (numbers >> 31)) * _SPREAD
        return multiplied ^ (multiplied >> 29)


def combined(first: Longs, second: Longs) -> Longs:
    """Return a number for each pair of numbers, which depends on their order."""
    with np.errstate(over="ignore"):
        return mixed(mixed(first) * np.int64(31) + second)


INSTANT = pa.timestamp("us", tz="UTC")
"""Type of event times and watermarks."""


def changes_between(
    before: pa.Table | None, after: pa.Table | None, ids: Longs, moments: Longs, always: Longs | None = None
) -> pa.Table:
    """Return the changelog rows that turn one version of some rows into the other: for each id a retraction of the old
    row, then the new row. Equal rows give nothing, unless their id is one of `always`. Both versions have at most one
    row per id and are sorted by it; `ids` are all of them, and `moments` the event times of their changes."""
    before = before if before is not None else _empty(after)
    after = after if after is not None else before.slice(0, 0)
    old_ids, new_ids = longs(before[ROW_ID]), longs(after[ROW_ID])
    places = np.searchsorted(new_ids, old_ids)
    # the appended zero is no row: it may equal an id, so positions after the last row are left out again
    in_both = np.flatnonzero(np.append(new_ids, 0)[places] == old_ids)
    in_both = in_both[places[in_both] < len(new_ids)]
    is_same = same_rows(before.take(pa.array(in_both)), after.take(pa.array(places[in_both])))
    if always is not None:
        is_same = is_same & ~np.isin(old_ids[in_both], always)
    goes, comes = np.ones(len(old_ids), bool), np.ones(len(new_ids), bool)
    goes[in_both[is_same]] = comes[places[in_both[is_same]]] = False
    rows = np.concatenate([np.flatnonzero(goes), np.flatnonzero(comes) + len(old_ids)])
    changed_ids = np.concatenate([old_ids[goes], new_ids[comes]])
    order = np.lexsort((rows, changed_ids))
    rows, changed_ids = rows[order], changed_ids[order]
    changes = pa.concat_tables([before, after]).take(pa.array(rows)).drop_columns([ROW_ID])
    times = moments[np.searchsorted(ids, changed_ids)] if len(changed_ids) else changed_ids
    return with_change_columns(changes, times, rows < len(old_ids), changed_ids)


def with_change_columns(rows: pa.Table, times: Longs, retract: Flags, ids: Longs) -> pa.Table:
    """Return the rows with the hidden columns of changes."""
    rows = rows.append_column(EVENT_TIME, pa.array(times, pa.int64()).cast(INSTANT))
    rows = rows.append_column(RETRACT, pa.array(retract))
    return rows.append_column(ROW_ID, pa.array(ids, pa.int64()))


def same_rows(table: pa.Table, other: pa.Table) -> Flags:
    """Return a mask of the rows that are equal in both tables. NULL equals NULL, and NaN equals NaN."""
    same = np.ones(table.num_rows, bool)
    for left, right in zip(table.columns, other.columns, strict=True):
        same &= _same(left.combine_chunks(), right.combine_chunks())
    return same


def _same(left: pa.Array, right: pa.Array) -> Flags:
    if not len(left):
        return np.ones(0, bool)
    if pa.types.is_nested(left.type):
        pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
        return np.fromiter((repr(a) == repr(b) for a, b in pairs), bool, len(left))
    equal = pc.equal(left, right)
    if pa.types.is_floating(left.type):
        equal = pc.or_(equal, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    both_null = pc.and_(left.is_null(), right.is_null())
    same: Flags = pc.or_(equal.fill_null(False), both_null).to_numpy(zero_copy_only=False)
    return same


def _empty(table: pa.Table | None) -> pa.Table:
    if table is None:
        raise ValueError("neither version is known")
    return table.slice(0, 0)


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
        """Return the sum of each group, wrapping around silently: only for small numbers."""
        return np.add.reduceat(values[self.order], self.starts) if len(self.order) else values[:0]

    def greatest_of(self, values: Longs) -> Longs:
        """Return the greatest value of each group."""
        return np.maximum.reduceat(values[self.order], self.starts) if len(self.order) else values[:0]

    def least_of(self, values: Longs) -> Longs:
        """Return the least value of each group."""
        return np.minimum.reduceat(values[self.order], self.starts) if len(self.order) else values[:0]


def group_rows(*keys: Longs) -> Groups:
    """Return the groups of rows with equal keys, in the order of the keys."""
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
    """Return a column without NULL as whole numbers; instants are microseconds."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not pa.types.is_int64(column.type):
        column = column.cast(pa.int64())
    values: Longs = column.to_numpy(zero_copy_only=False)
    return values


def moments(column: pa.Array | pa.ChunkedArray) -> Longs:
    """Return event times in microseconds; a row without one counts as the oldest."""
    return longs(column.cast(pa.int64()).fill_null(0))


def flags(column: pa.Array | pa.ChunkedArray) -> Flags:
    """Return a column of truth values; NULL counts as false."""
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
    """Return all positions of several ranges, one after the other."""
    total = int(counts.sum())
    if total == 0:
        return np.zeros(0, np.int64)
    ends = np.cumsum(counts)
    inside = np.arange(total) - np.repeat(ends - counts, counts)
    return np.repeat(starts, counts) + inside
