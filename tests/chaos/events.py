"""Events that say themselves who they are: of every number there is one row, and every row can be checked alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.schema import Field, Schema, arrow_schema
from engine.types import BIGINT, TEXT

KEYS = 96
SHARDS = 3
"""Rows of one shard go through one task and keep their order."""

SCHEMA = Schema(
    (
        Field("n", BIGINT, nullable=False),
        Field("key", TEXT, nullable=False),
        Field("shard", BIGINT, nullable=False),
        Field("body", TEXT, nullable=False),
    )
)
Numbers = npt.NDArray[np.int64]


def make_events(first: int, end: int, shard: int | None = None) -> pa.RecordBatch:
    """The events of a range, of one shard or of all."""
    numbers = np.arange(first, end, dtype=np.int64)
    return _rows(numbers if shard is None else numbers[numbers % SHARDS == shard])


def numbers_of(rows: pa.Table) -> tuple[Numbers, int]:
    """The numbers of some rows that were read back, in order, and how many of the rows are not as they were made."""
    numbers = rows.column("n").combine_chunks().to_numpy(zero_copy_only=False).astype(np.int64)
    expected = _rows(numbers)
    wrong = np.zeros(len(numbers), dtype=bool)
    for name in ("key", "shard", "body"):
        same = pc.equal(rows.column(name).combine_chunks().cast(expected.column(name).type), expected.column(name))
        wrong |= ~same.fill_null(False).to_numpy(zero_copy_only=False)
    return numbers, int(wrong.sum())


def _rows(numbers: Numbers) -> pa.RecordBatch:
    keys = pc.binary_join_element_wise("k", pa.array(numbers % KEYS).cast(pa.string()), "")
    body = pa.array((numbers * 2_654_435_761) % 4_294_967_291).cast(pa.string())
    columns = [pa.array(numbers), keys, pa.array(numbers % SHARDS), body]
    return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(SCHEMA))
