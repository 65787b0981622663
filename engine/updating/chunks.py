"""A table kept as sorted chunks: what changes is added as a new chunk, and chunks of like size are merged.

So an epoch writes about as much as it changed, however much is kept, and each row is written again a logarithmic number
of times. A row with the weight zero says that older ones with its key are gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from engine.updating.groups import Longs, group, longs, ranges
from engine.updating.state_columns import WEIGHT

_GROWTH = 2


@dataclass(frozen=True, slots=True)
class Chunks:
    """The newest chunk is the last. Within one, rows are sorted by the key columns and no two have the same."""

    keys: tuple[str, ...]
    tables: tuple[pa.Table, ...] = ()

    @property
    def rows(self) -> int:
        """How many rows are kept, with those that are out of date."""
        return sum(table.num_rows for table in self.tables)

    def find(self, wanted: Longs) -> pa.Table | None:
        """The rows that are there whose first key column is one of `wanted`, in the order of the keys; None when
        nothing was ever kept. `wanted` is sorted and has no value twice."""
        found = []
        for table in reversed(self.tables):
            first = longs(table[self.keys[0]])
            low, high = np.searchsorted(first, wanted, "left"), np.searchsorted(first, wanted, "right")
            found.append(table.take(pa.array(ranges(low, high - low))))
        return _newest(found, self.keys, drop=True) if found else None

    def all(self) -> pa.Table | None:
        """Every row that is there, in the order of the keys; None when nothing was ever kept."""
        return _newest(self.tables[::-1], self.keys, drop=True) if self.tables else None

    def add(self, changed: pa.Table) -> Chunks:
        """With the rows of `changed`, which is sorted by the keys, instead of those with the same keys."""
        if not changed.num_rows:
            return self
        tables = [*self.tables, changed.combine_chunks()]
        while len(tables) > 1 and tables[-2].num_rows < _GROWTH * tables[-1].num_rows:
            newer, older = tables.pop(), tables.pop()
            tables.append(_newest([newer, older], self.keys, drop=not tables))
        return Chunks(self.keys, tuple(tables))

    def compacted(self) -> Chunks:
        """The same rows as one chunk."""
        everything = self.all()
        return Chunks(self.keys, () if everything is None else (everything,))


def _newest(tables: Sequence[pa.Table], keys: Sequence[str], *, drop: bool) -> pa.Table:
    """The rows of several tables, the newer ones first, without those that are out of date."""
    if len(tables) == 1:
        rows = tables[0]
    else:
        rows = pa.concat_tables(tables).combine_chunks()
        found = group(*(longs(rows[key]) for key in keys))
        rows = rows.take(pa.array(found.firsts))
    if drop:
        alive = longs(rows[WEIGHT]) != 0
        rows = rows if alive.all() else rows.filter(pa.array(alive))
    return rows.combine_chunks()
