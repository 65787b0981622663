"""State of a shard, and the result of a step.

Stored form of a shard: a head, which lists all chunks and contains the small ones, and numbered large chunks.

    state      "rows" as chunks of 2 MB, 90 KB and 1 KB
    listing    {"tables": {"rows": [["_id"], [[4, "9f.."], [7, "c0.."], null]]}, "next": 8, "marks": [newest, 0, swept]}
    small      the chunk of 1 KB, as Arrow
    chunks     4: the chunk of 2 MB      7: that of 90 KB

An epoch that adds a small chunk only writes the head. See docs/decisions/updating-state-is-kept-in-buckets.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from types import MappingProxyType

import pyarrow as pa

from engine.updating.chunks import Chunks
from engine.updating.serialization import to_bytes

NEVER = -(1 << 62)
"""Before every event time, with room to subtract a time to live."""
_SWEEPS_IN_TTL = 16
"""Number of sweeps per time to live. A sweep reads all state of a shard; expired rows stay at most a sixteenth longer
than they should."""


@dataclass(frozen=True, slots=True)
class BucketState:
    """Tables of a shard, its newest event time, the number of values that it has numbered, the time of its last sweep,
    the form of its tables if recorded, and the last re-emission that it has done."""

    tables: Mapping[str, Chunks] = field(default_factory=lambda: MappingProxyType({}))
    newest: int = NEVER
    rows_seen: int = 0
    swept: int = NEVER
    form: tuple[str, ...] | None = None
    told: str | None = None

    def is_due_for_sweep(self, ttl: int) -> bool:
        """Whether a part of the time to live has passed since the last sweep, in event time: a replay sweeps again."""
        return self.newest - self.swept >= max(ttl // _SWEEPS_IN_TTL, 1)


@dataclass(frozen=True, slots=True)
class StepResult:
    """New state after a step, and the changelog rows that it emits."""

    state: BucketState
    out: pa.Table


@dataclass(frozen=True, slots=True)
class StepsResult:
    """New states of some shards, by number, and the changelog rows that all of them emit."""

    states: Mapping[int, BucketState]
    out: pa.Table


def one_by_one(
    step: Callable[[BucketState, Sequence[bytes]], StepResult],
    states: Mapping[int, BucketState],
    payloads: Mapping[int, Sequence[bytes]],
) -> StepsResult:
    """Return the steps of some shards, each run separately."""
    results = {number: step(state, payloads[number]) for number, state in states.items()}
    # where nothing goes out a step need not even say which columns there would be
    outs = [result.out for result in results.values() if result.out.num_rows]
    out = pa.concat_tables(outs) if outs else pa.table({})
    return StepsResult({number: result.state for number, result in results.items()}, out)


INLINE = 65_536
"""Size up to which chunks are in the head, which saves a call for each."""


@dataclass(frozen=True, slots=True)
class LargeChunk:
    """A numbered chunk, with the digest of its bytes, which identifies it everywhere."""

    number: int
    digest: str


@dataclass(frozen=True, slots=True)
class StoredBucket:
    """State of a shard as it was read: its large chunks, and the next number."""

    state: BucketState = field(default_factory=BucketState)
    large: Mapping[LargeChunk, pa.Table] = field(default_factory=dict)
    next_number: int = 0


@dataclass(frozen=True, slots=True)
class BucketWrite:
    """Changes to write for a shard: the head, new large chunks, and removed ones."""

    listing: str
    small: bytes
    new_chunks: Mapping[LargeChunk, tuple[pa.Table, bytes]]
    gone_chunks: Sequence[LargeChunk]


def read_head(listing: str, small: bytes, load: Callable[[LargeChunk], pa.Table]) -> StoredBucket:
    """Read the state of a shard; `load` returns the large chunks."""
    content = json.loads(listing)
    large: dict[LargeChunk, pa.Table] = {}
    tables: dict[str, Chunks] = {}
    source = pa.BufferReader(small)
    for name, (keys, entries) in content["tables"].items():
        small_chunks = iter(_stacked(source) if None in entries else ())
        chunks = []
        for entry in entries:
            if entry is None:
                chunks.append(next(small_chunks))
                continue
            chunk = LargeChunk(*entry)
            large[chunk] = load(chunk)
            chunks.append(large[chunk])
        tables[name] = Chunks(tuple(keys), tuple(chunks))
    form = tuple(content["form"]) if "form" in content else None
    newest, rows_seen, swept = content["marks"]
    state = BucketState(tables, newest, rows_seen, swept, form, content.get("told"))
    return StoredBucket(state, large, content["next"])


def write_head(stored: StoredBucket, state: BucketState) -> BucketWrite:
    """Return the writes that turn the shard as it was read into one that holds `state`."""
    # a chunk that a step has left alone is the very table that was read: nothing need be compared
    stored_chunks = {id(table): chunk for chunk, table in stored.large.items()}
    new_chunks: dict[LargeChunk, tuple[pa.Table, bytes]] = {}
    staying_numbers: set[int] = set()
    tables: dict[str, tuple[tuple[str, ...], list[tuple[int, str] | None]]] = {}
    sink = pa.BufferOutputStream()
    for name, chunks in state.tables.items():
        small_chunks: list[pa.Table] = []
        entries: list[tuple[int, str] | None] = []
        for table in chunks.tables:
            chunk = stored_chunks.get(id(table))
            if chunk is None and table.nbytes <= INLINE:
                small_chunks.append(table)
                entries.append(None)
                continue
            if chunk is None:
                content = to_bytes([table])
                digest = blake2b(content, digest_size=16).hexdigest()
                chunk = LargeChunk(stored.next_number + len(new_chunks), digest)
                new_chunks[chunk] = table, content
            staying_numbers.add(chunk.number)
            entries.append((chunk.number, chunk.digest))
        if small_chunks:
            _stack(sink, small_chunks)
        tables[name] = chunks.keys, entries
    marks = (state.newest, state.rows_seen, state.swept)
    next_number = stored.next_number + len(new_chunks)
    form = {} if state.form is None else {"form": state.form}
    told = {} if state.told is None else {"told": state.told}
    listing = json.dumps({"tables": tables, "next": next_number, "marks": marks, **form, **told})
    gone_chunks = [chunk for chunk in stored.large if chunk.number not in staying_numbers]
    return BucketWrite(listing, sink.getvalue().to_pybytes(), new_chunks, gone_chunks)


def _stack(sink: pa.BufferOutputStream, tables: list[pa.Table]) -> None:
    """Write all tables into one stream, so that the cost of a schema is paid once."""
    with pa.ipc.new_stream(sink, tables[0].schema) as writer:
        for table in tables:
            writer.write_batch(_as_batch(table))


def _as_batch(table: pa.Table) -> pa.RecordBatch:
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)


def _stacked(source: pa.BufferReader) -> list[pa.Table]:
    with pa.ipc.open_stream(source) as reader:
        return [pa.Table.from_batches([batch]) for batch in reader]
