"""Changelog rows from two versions of a table.

    before     1: (a, 2)   2: (b, 5)   3: (c, 7)
    after      1: (a, 3)   2: (b, 5)                4: (d, 1)
    changes    1: -(a, 2)  1: +(a, 3)  3: -(c, 7)   4: +(d, 1)

See docs/decisions/changes-are-folded-at-the-sink.md.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.plan.tree import EVENT_TIME, RETRACT, ROW_ID
from engine.updating.groups import Flags, Longs, longs

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
    # the zero appended stands for no row: it may be equal to an id, so places behind the last row are left out again
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
    """The rows with the hidden columns of changes."""
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
