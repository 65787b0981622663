"""Serialise tables, and distribute their rows to shards.

The shard of a row never changes, so a rescale only moves shards.

    ids            0x00.., 0x0A.., 0xF9..     hashes of the keys
    shards         0, 1, 31                   the top five bits
    distributed    shard 0: the first row as bytes, shard 1: the second, shard 31: the third

See docs/decisions/updating-state-is-kept-in-buckets.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from engine.updating.groups import Longs, group_rows

BUCKETS = 32
"""Number of shards, and so the largest number of tasks of an operator. With more, calls have fewer rows, and the cost
of an epoch is the number of calls. Another number would misread existing state."""
_MARK = 8
"""Bytes before each message of an Arrow stream: four marker bytes, and the length of its metadata."""
_END = b"\xff\xff\xff\xff\0\0\0\0"
"""End of an Arrow stream: a marker with length zero."""
_SHIFT = 64 - (BUCKETS - 1).bit_length()


def bucket_of(ids: Longs) -> Longs:
    """Return the bucket of each id: its uppermost bits, so that ids in order are in the order of their buckets too."""
    return (ids >> _SHIFT) & (BUCKETS - 1)


def to_bytes(tables: Sequence[pa.Table]) -> bytes:
    """Serialise several tables, one after the other."""
    sink = pa.BufferOutputStream()
    for table in tables:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def from_bytes(content: bytes | pa.Buffer) -> list[pa.Table]:
    """Return the tables that `to_bytes` wrote."""
    source = pa.BufferReader(content)
    tables = []
    while source.tell() < source.size():
        with pa.ipc.open_stream(source) as reader:
            tables.append(reader.read_all())
    return tables


def from_each(contents: Iterable[bytes]) -> list[pa.Table]:
    """Return the tables of several, of which each was written alone. Those with the same schema come as one: to
    begin with a table takes Arrow longer than a hundred rows of it."""
    batches: dict[bytes, list[bytes]] = {}
    for content in contents:
        schema_ends = _MARK + int.from_bytes(content[4:_MARK], "little")
        batches.setdefault(content[:schema_ends], []).append(content[schema_ends:-_MARK])
    return [from_bytes(b"".join((schema, *parts, _END)))[0] for schema, parts in batches.items()]


def deal(tables: Mapping[str, pa.Table], ids: Mapping[str, Longs]) -> Iterator[tuple[int, list[pa.Table]]]:
    """Yield the rows of each bucket that has any, of each table, by the ids of the rows."""
    parts: dict[int, dict[str, pa.Table]] = {}
    for name, table in tables.items():
        buckets_of_rows = bucket_of(ids[name])
        groups = group_rows(buckets_of_rows)
        ordered = table.take(pa.array(groups.order))
        buckets = buckets_of_rows[groups.first_rows] if groups.count else np.zeros(0, np.int64)
        for bucket, start, end in zip(buckets, groups.starts, groups.ends, strict=True):
            parts.setdefault(int(bucket), {})[name] = ordered.slice(start, end - start)
    for bucket, bucket_tables in sorted(parts.items()):
        yield bucket, [bucket_tables.get(name, table.slice(0, 0)) for name, table in tables.items()]


def whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column as one array."""
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return column


def replaced(rows: pa.Table, name: str, values: Longs) -> pa.Table:
    """Return the rows with other numbers in a column."""
    return rows.set_column(rows.column_names.index(name), name, pa.array(values, pa.int64()))
