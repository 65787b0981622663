"""A table stored as sorted chunks: changes are added as a new chunk, and chunks of similar size are merged.

So an epoch writes about as much as it changes, and each row is rewritten a logarithmic number of times. A row with
weight zero deletes older rows with its key.

    chunks              [a 1, b 1, c 1, d 1, e 1]
    add [b 2, f 1]      [a 1, b 1, c 1, d 1, e 1]  [b 2, f 1]
    find a, b           a 1, b 2: the newest chunk with a key counts
    add [a 0, g 1]      [a 1, b 1, c 1, d 1, e 1]  [a 0, b 2, f 1, g 1], which is merged with the first
                        [b 2, c 1, d 1, e 1, f 1, g 1]

See docs/decisions/updating-state-is-kept-in-buckets.md.

An Arrow call costs as much as a thousand rows, and small chunks have fewer:

    chunks      shard 0: [a 1, b 1] [b 2]         shard 1: [p 1] [q 1]
    find b, q   one table of all four, newest of a shard first: [b 2, a 1, b 1, q 1, p 1]; results b 2, q 1
    add         [b 3, p 2] is split: shard 0 adds b 3, shard 1 adds p 2; chunks to merge are sorted together

The result is that of each shard on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from engine.updating.groups import Flags, Longs, group_rows, longs, ranges
from engine.updating.serialization import bucket_of
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


_FEW_ROWS = 4096
"""Chunks with more rows are searched one by one, since copying them would cost more."""


def find_together(kept: Iterable[Chunks], ids: Longs) -> pa.Table | None:
    """Return the rows of some shards, like `Chunks.find` for each."""
    small: list[pa.Table] = []
    large: list[pa.Table] = []
    keys: tuple[str, ...] = ()
    for chunks in kept:
        # the newer chunks of a bucket must stay before its older ones
        count = _leading_small(chunks.tables[::-1])
        small += chunks.tables[::-1][:count]
        large += chunks.tables[::-1][count:]
        keys = chunks.keys
    parts = [rows_of(table, keys[0], ids) for table in large]
    if small:
        rows = pa.concat_tables(small).combine_chunks()
        sought = rows.take(pa.array(np.flatnonzero(_is_among(longs(rows[keys[0]]), ids))))
        parts.insert(0, first_of_each(sought, keys))
    return newest(parts, keys, drop=True) if parts else None


def _leading_small(tables: Sequence[pa.Table]) -> int:
    """Return the number of small tables before the first large one."""
    return next((place for place, table in enumerate(tables) if table.num_rows > _FEW_ROWS), len(tables))


def _is_among(values: Longs, ids: Longs) -> Flags:
    """Return a mask of the values that occur in `ids`, which are sorted."""
    places = np.minimum(np.searchsorted(ids, values), len(ids) - 1)
    is_among: Flags = ids[places] == values
    return is_among


def add_together(kept: Mapping[int, Chunks], changed: pa.Table) -> dict[int, Chunks]:
    """Return the chunks of each shard with its rows of `changed`, like `Chunks.add` for each."""
    keys = next(iter(kept.values())).keys
    stacks = {bucket: [*chunks.tables] for bucket, chunks in kept.items()}
    for bucket, rows in divided(changed, keys[0]).items():
        stacks[bucket].append(rows)

    def merge(tables: Sequence[pa.Table], covering: Collection[int]) -> pa.Table:
        merged = newest(tables, keys, drop=False)
        stays = longs(merged[WEIGHT]) != 0
        if stays.all():
            return merged
        # only in the oldest chunk does a weight of zero have nothing more to say
        stays |= np.isin(bucket_of(longs(merged[keys[0]])), list(covering))
        return merged.filter(pa.array(stays)).combine_chunks()

    merge_due(stacks, keys[0], merge)
    return {bucket: Chunks(keys, tuple(tables)) for bucket, tables in stacks.items()}


Merge = Callable[[Sequence[pa.Table], Collection[int]], pa.Table]
"""Merges several chunks into one, newest of a shard first, sorted by key; with the shards that have older chunks."""


def merge_due(stacks: Mapping[int, list[pa.Table]], key: str, merge: Merge) -> None:
    """Merge the newest chunks of each shard while they have similar sizes."""
    due = _due(stacks, stacks)
    while due:
        pairs = {bucket: (stacks[bucket].pop(), stacks[bucket].pop()) for bucket in due}
        covering = {bucket for bucket in due if stacks[bucket]}
        few = [bucket for bucket, pair in pairs.items() if sum(table.num_rows for table in pair) <= _FEW_ROWS]
        for bucket in set(due).difference(few):
            stacks[bucket].append(merge(pairs[bucket], covering))
        if few:
            merged = merge([table for bucket in few for table in pairs[bucket]], covering)
            parts = divided(merged, key)
            for bucket in few:
                stacks[bucket].append(parts.get(bucket, merged.slice(0, 0)))
        due = _due(stacks, due)


def _due(stacks: Mapping[int, Sequence[pa.Table]], buckets: Iterable[int]) -> list[int]:
    return [bucket for bucket in buckets if is_to_be_merged(stacks[bucket])]


def divided(rows: pa.Table, key: str) -> dict[int, pa.Table]:
    """Return the rows of each shard that has any, from rows in the order of a key."""
    buckets = bucket_of(longs(rows[key]))
    groups = group_rows(buckets)
    bounds = zip(buckets[groups.first_rows].tolist(), groups.starts.tolist(), groups.ends.tolist(), strict=True)
    # rows in the order of the key are in that of their buckets, if not from the first bucket on
    first = groups.first_rows.tolist()
    return {bucket: rows.slice(row, end - start) for (bucket, start, end), row in zip(bounds, first, strict=True)}
