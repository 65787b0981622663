"""Tables as bytes, and rows dealt out to buckets.

Which bucket a row is in never changes, so a rescale only moves buckets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from engine.updating.groups import Longs, group

BUCKETS = 32
"""Also the most tasks that an operator can be spread over."""
_SHIFT = 64 - (BUCKETS - 1).bit_length()


def bucket_of(ids: Longs) -> Longs:
    """The bucket of each id: its uppermost bits, so that ids in order are in the order of their buckets too."""
    return (ids >> _SHIFT) & (BUCKETS - 1)


def to_bytes(tables: Sequence[pa.Table]) -> bytes:
    """Several tables, one after the other."""
    sink = pa.BufferOutputStream()
    for table in tables:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def from_bytes(content: bytes | pa.Buffer) -> list[pa.Table]:
    """The tables that `to_bytes` wrote."""
    source = pa.BufferReader(content)
    tables = []
    while source.tell() < source.size():
        with pa.ipc.open_stream(source) as reader:
            tables.append(reader.read_all())
    return tables


def deal(tables: Mapping[str, pa.Table], ids: Mapping[str, Longs]) -> Iterator[tuple[int, list[pa.Table]]]:
    """The rows of each bucket that has any, of each table, by the ids of the rows."""
    parts: dict[int, dict[str, pa.Table]] = {}
    for name, table in tables.items():
        found = group(bucket_of(ids[name]))
        ordered = table.take(pa.array(found.order))
        buckets = bucket_of(ids[name])[found.firsts] if found.count else np.zeros(0, np.int64)
        for bucket, start, end in zip(buckets, found.starts, found.ends, strict=True):
            parts.setdefault(int(bucket), {})[name] = ordered.slice(start, end - start)
    for bucket, own in sorted(parts.items()):
        yield bucket, [own.get(name, table.slice(0, 0)) for name, table in tables.items()]
