"""A table stored as sorted chunks: changes are added as a new chunk, and chunks of similar size are merged.

So an epoch writes about as much as it changes, and each row is rewritten a logarithmic number of times. A row with
weight zero deletes older rows with its key.

    chunks              [a 1, b 1, c 1, d 1, e 1]
    add [b 2, f 1]      [a 1, b 1, c 1, d 1, e 1]  [b 2, f 1]
    find a, b           a 1, b 2: the newest chunk with a key counts
    add [a 0, g 1]      [a 1, b 1, c 1, d 1, e 1]  [a 0, b 2, f 1, g 1], which is merged with the first
                        [b 2, c 1, d 1, e 1, f 1, g 1]

See docs/decisions/updating-state-is-kept-in-buckets.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from engine.updating.groups import Longs, group_rows, longs, ranges
from engine.updating.state_columns import WEIGHT

_GROWTH = 2
"""Smallest size ratio of neighbouring chunks, which limits their number to a logarithm. A larger ratio means fewer
chunks to search, and more rewrites."""


@dataclass(frozen=True, slots=True)
class Chunks:
    """The newest chunk is the last. Within a chunk, rows are sorted by key, and keys are unique."""

    keys: tuple[str, ...]
    tables: tuple[pa.Table, ...] = ()

    @property
    def rows(self) -> int:
        """Return the number of rows, including superseded ones."""
        return sum(table.num_rows for table in self.tables)

    def find(self, ids: Longs) -> pa.Table | None:
        """Return the existing rows whose first key column is one of `ids`, in the order of the keys; None if nothing
        was ever stored. `ids` is sorted and has no duplicates."""
        parts = [rows_of(table, self.keys[0], ids) for table in reversed(self.tables)]
        return newest(parts, self.keys, drop=True) if parts else None

    def all(self) -> pa.Table | None:
        """Return every existing row, in the order of the keys; None if nothing was ever stored."""
        return newest(self.tables[::-1], self.keys, drop=True) if self.tables else None

    def add(self, changed: pa.Table) -> Chunks:
        """Return chunks in which the rows of `changed`, which is sorted by the keys, replace those with the same
        keys."""
        if not changed.num_rows:
            return self
        tables = [*self.tables, changed.combine_chunks()]
        while is_to_be_merged(tables):
            newer, older = tables.pop(), tables.pop()
            # only in the oldest chunk does a weight of zero have nothing more to say
            tables.append(newest([newer, older], self.keys, drop=not tables))
        return Chunks(self.keys, tuple(tables))

    def in_types_of(self, schema: pa.Schema) -> Chunks:
        """Cast the columns to the types of a schema, which are as wide or wider."""
        return Chunks(self.keys, tuple(in_types_of(schema, table) for table in self.tables))

    def compacted(self) -> Chunks:
        """Merge all rows into one chunk."""
        rows = self.all()
        return Chunks(self.keys, () if rows is None else (rows,))


def in_types_of(schema: pa.Schema, table: pa.Table) -> pa.Table:
    """Return a table with its columns cast to the types of a schema; the table itself if it has them already."""
    wanted = [schema.field(field.name) if field.name in schema.names else field for field in table.schema]
    if all(field.type == want.type for field, want in zip(table.schema, wanted, strict=True)):
        return table
    return table.cast(pa.schema([field.with_type(want.type) for field, want in zip(table.schema, wanted, strict=True)]))


def is_to_be_merged(tables: Sequence[pa.Table]) -> bool:
    """Whether the two newest chunks have similar sizes."""
    return len(tables) > 1 and tables[-2].num_rows < _GROWTH * tables[-1].num_rows


def rows_of(table: pa.Table, key: str, ids: Longs) -> pa.Table:
    """Return the rows of a chunk whose first key column is one of `ids`, which are sorted."""
    keys = longs(table[key])
    if len(keys):
        ids = ids[np.searchsorted(ids, keys[0], "left") : np.searchsorted(ids, keys[-1], "right")]
    low, high = np.searchsorted(keys, ids, "left"), np.searchsorted(keys, ids, "right")
    return table.take(pa.array(ranges(low, high - low)))


def newest(tables: Sequence[pa.Table], keys: Sequence[str], *, drop: bool) -> pa.Table:
    """Return the rows of several tables, the newest first, without superseded ones."""
    rows = tables[0] if len(tables) == 1 else first_of_each(pa.concat_tables(tables), keys)
    if drop:
        alive = longs(rows[WEIGHT]) != 0
        rows = rows if alive.all() else rows.filter(pa.array(alive))
    return rows.combine_chunks()


def first_of_each(rows: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Return the first row of each key, in the order of the keys."""
    rows = rows.combine_chunks()
    groups = group_rows(*(longs(rows[key]) for key in keys))
    return rows.take(pa.array(groups.first_rows))
