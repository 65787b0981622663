"""Minimum and maximum of values that are never retracted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.updating.groups import Groups, Longs, valid


@dataclass(frozen=True, slots=True)
class Extreme:
    """Minimum or maximum; NaN is greater than all numbers. One column: the value."""

    greatest: bool

    def start(self, arguments: Sequence[pa.Array], weights: Longs, groups: Groups) -> list[pa.Array]:
        """The extreme of each group; rows without a weight are left out."""
        values = arguments[0]
        if (weights == 0).any():
            values = pc.if_else(pa.array(weights != 0), values, pa.scalar(None, values.type))
        return self.merge([values], groups)

    def merge(self, columns: Sequence[pa.Array], groups: Groups) -> list[pa.Array]:
        """The extreme of the extremes."""
        values = columns[0].take(pa.array(groups.order))
        if groups.count == len(values):
            return [values]
        sortable = _sortable(values)
        order = pc.sort_indices(
            pa.table({"group": groups.numbers, "value": sortable}),
            sort_keys=[("group", "ascending"), ("value", "ascending")],
        ).to_numpy()
        # NULLs come last in their group, so the values of a group are its first ones
        counts = np.add.reduceat(valid(values).astype(np.int64), groups.starts)
        place = np.where(counts > 0, groups.starts + (counts - 1 if self.greatest else 0), groups.starts)
        return [values.take(pa.array(order[place]))]

    def finish(self, columns: Sequence[pa.Array]) -> pa.Array:
        """The value itself, NULL when there is none."""
        return columns[0]


def _sortable(values: pa.Array) -> pa.Array:
    if pa.types.is_boolean(values.type):
        return values.cast(pa.int8())
    if pa.types.is_duration(values.type):
        return values.cast(pa.int64())
    return values
