"""Helpers for Arrow tables."""

from __future__ import annotations

import pyarrow as pa

from engine.updating.groups import Longs


def whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column as one array."""
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return column


def replaced(rows: pa.Table, name: str, values: Longs) -> pa.Table:
    """Return the rows with other numbers in a column."""
    return rows.set_column(rows.column_names.index(name), name, pa.array(values, pa.int64()))
