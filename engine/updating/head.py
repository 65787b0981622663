"""What is written of a bucket: a head that lists all chunks and holds the small ones, and the large ones by number."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import pyarrow as pa

from engine.updating.chunks import Chunks
from engine.updating.serialization import to_bytes
from engine.updating.step import Kept

INLINE = 65_536
"""Chunks up to so many bytes are written into the head, which saves a call for each."""


@dataclass(frozen=True, slots=True)
class Large:
    """A chunk that has a number of its own, and the digest of its bytes, by which it is known wherever it lies."""

    number: int
    digest: str


@dataclass(frozen=True, slots=True)
class Stored:
    """What a bucket keeps, as it was read: which of its chunks are large, and the number of the next."""

    kept: Kept = field(default_factory=Kept)
    large: Mapping[Large, pa.Table] = field(default_factory=dict)
    following: int = 0


@dataclass(frozen=True, slots=True)
class Written:
    """What is to be written of a bucket: the head, the large chunks that are new, and those that are gone."""

    listing: str
    small: bytes
    new: Mapping[Large, tuple[pa.Table, bytes]]
    gone: Sequence[Large]


def read_head(listing: str, small: bytes, chunk: Callable[[Large], pa.Table]) -> Stored:
    """What a bucket keeps; `chunk` gives the large ones."""
    content = json.loads(listing)
    large: dict[Large, pa.Table] = {}
    tables: dict[str, Chunks] = {}
    source = pa.BufferReader(small)
    for name, (keys, places) in content["tables"].items():
        beside = iter(_stacked(source) if None in places else ())
        chunks = []
        for place in places:
            if place is None:
                chunks.append(next(beside))
                continue
            one = Large(*place)
            large[one] = chunk(one)
            chunks.append(large[one])
        tables[name] = Chunks(tuple(keys), tuple(chunks))
    return Stored(Kept(tables, *content["marks"]), large, content["next"])


def write_head(stored: Stored, kept: Kept) -> Written:
    """What turns the bucket as it was read into one that keeps `kept`."""
    known = {id(table): one for one, table in stored.large.items()}
    new: dict[Large, tuple[pa.Table, bytes]] = {}
    staying: set[int] = set()
    tables: dict[str, tuple[tuple[str, ...], list[tuple[int, str] | None]]] = {}
    sink = pa.BufferOutputStream()
    for name, chunks in kept.tables.items():
        beside: list[pa.Table] = []
        places: list[tuple[int, str] | None] = []
        for table in chunks.tables:
            one = known.get(id(table))
            if one is None and table.nbytes <= INLINE:
                beside.append(table)
                places.append(None)
                continue
            if one is None:
                content = to_bytes([table])
                one = Large(stored.following + len(new), blake2b(content, digest_size=16).hexdigest())
                new[one] = table, content
            staying.add(one.number)
            places.append((one.number, one.digest))
        if beside:
            _stack(sink, beside)
        tables[name] = chunks.keys, places
    marks = (kept.newest, kept.rows_seen, kept.swept)
    following = stored.following + len(new)
    listing = json.dumps({"tables": tables, "next": following, "marks": marks})
    gone = [one for one in stored.large if one.number not in staying]
    return Written(listing, sink.getvalue().to_pybytes(), new, gone)


def _stack(sink: pa.BufferOutputStream, tables: list[pa.Table]) -> None:
    """One stream for all: what a schema costs is paid once."""
    with pa.ipc.new_stream(sink, tables[0].schema) as writer:
        for table in tables:
            writer.write_batch(_as_batch(table))


def _as_batch(table: pa.Table) -> pa.RecordBatch:
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)


def _stacked(source: pa.BufferReader) -> list[pa.Table]:
    with pa.ipc.open_stream(source) as reader:
        return [pa.Table.from_batches([batch]) for batch in reader]
