"""Operators of our own that keep state: their rows are dealt out to buckets, and each bucket takes its step.

On the way rows are packed as Arrow into one binary column, since Spark hands rows to stateful Python value by
value.

    rows of two tasks      key a: 3 rows, key b: 1        key a: 2 rows, key c: 1
    packed                 (bucket 5, a 3), (bucket 9, b 1)    (bucket 5, a 2; c 1)
    step of bucket 5       keeps a 5, c 1 more than before, sends out what that changes, packed
    unpacked               the changes of all buckets, as columns

See docs/decisions/updating-state-is-kept-in-buckets.md.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, reduce
from typing import TYPE_CHECKING, Protocol

from pyspark import TaskContext, cloudpickle
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.streaming.stateful_processor_api_client import (
    StatefulProcessorApiClient,
    StatefulProcessorHandleState,
)
from pyspark.sql.types import StructType

from engine.spark.map_in_arrow import map_in_arrow

if TYPE_CHECKING:
    import pyarrow as pa

    from engine.updating.bucket_state import BucketState, StepResult
    from engine.updating.chunk_cache import RecentChunks
    from engine.updating.head import LargeChunk, StoredBucket

PACKED = "bucket int, payload binary"
LABELS = (
    22362, 14516, 2769, 23448, 10632, 3429, 10128, 4288, 2478, 9968, 13154, 10200, 11261, 5168, 24584, 4532,
    36311, 5904, 7980, 3289, 7231, 29594, 8141, 3473, 77571, 32254, 52694, 38566, 26776, 32186, 40463, 10805,
)  # fmt: skip
"""What buckets are called in Spark's state: the least numbers whose hash leaves 0, 1, 2, ... when divided by 10,080. So
any number of tasks that divides it gets buckets in turn, and no task more than one above another."""


class Bucketed(Protocol):
    """An operator: how a task deals out its rows, and the step of a bucket."""

    def pack(self, rows: pa.Table) -> Iterator[tuple[int, bytes]]:
        """The rows of each bucket, packed."""

    def step(self, state: BucketState, payloads: Sequence[bytes]) -> StepResult:
        """One epoch of one bucket."""


def run_in_buckets(
    parts: Sequence[tuple[DataFrame, Bucketed]], operator: Bucketed, schema: StructType, asked_in: int | None = None
) -> DataFrame:
    """The rows, with the columns of `schema`, that the steps of all buckets send out. Each input comes with how it is
    packed. In the epoch that they are `asked_in` all buckets take a step, by a payload that is empty."""
    packed = reduce(
        DataFrame.union, [map_in_arrow(rows, _packer(packing, asked_in), PACKED) for rows, packing in parts]
    )
    stepped = packed.groupBy("bucket").transformWithState(
        BucketProcessor(operator), outputStructType="payload binary", outputMode="append", timeMode="None"
    )
    return map_in_arrow(stepped, _unpack, schema)


_EPOCH = "streaming.sql.batchId"
"""What Spark calls the number of an epoch among what it tells tasks."""
_ROWS_AT_ONCE = 200_000
"""Rows are summed up together in the task before they are packed: the more there are, the fewer are left to be sent."""


def _packer(operator: Bucketed, asked_in: int | None) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - only tasks need it

        gathered: list[pa.RecordBatch] = []
        for batch in batches:
            if batch.num_rows:
                gathered.append(batch)
            if sum(part.num_rows for part in gathered) >= _ROWS_AT_ONCE:
                yield from packed(pa.Table.from_batches(gathered))
                gathered = []
        if gathered:
            yield from packed(pa.Table.from_batches(gathered))
        if asked_in is not None and _epoch() == asked_in:
            yield _of_buckets(LABELS, [b""] * len(LABELS))

    def packed(rows: pa.Table) -> Iterator[pa.RecordBatch]:
        buckets, payloads = zip(*operator.pack(rows), strict=True)
        yield _of_buckets([LABELS[bucket] for bucket in buckets], payloads)

    return pack


def _of_buckets(labels: Sequence[int], payloads: Sequence[bytes]) -> pa.RecordBatch:
    import pyarrow as pa  # noqa: PLC0415 - see above

    columns = [pa.array(labels, pa.int32()), pa.array(payloads, pa.binary())]
    return pa.RecordBatch.from_arrays(columns, names=["bucket", "payload"])


def _epoch() -> int:
    """The number of the epoch that a task belongs to."""
    task = TaskContext.get()
    number = None if task is None else task.getLocalProperty(_EPOCH)
    assert number is not None, "a task belongs to an epoch"
    return int(number)


def _unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from engine.updating.serialization import from_bytes  # noqa: PLC0415 - only tasks need it

    for batch in batches:
        for payload in batch.column(0):
            for table in from_bytes(payload.as_buffer()):
                yield from table.to_batches()


_OPEN: list[StatefulProcessorApiClient] = []


def _hold_open(handle: StatefulProcessorHandle) -> None:
    """Keep a task's connection to its state open until the next task of this process begins.

    At the end of a task Spark interrupts whoever listens to that connection, which closes it. Where Python has said
    before that it is done, nobody listens any more, and the connection stays open for good: a file of Java for each
    task of each epoch, until there are none left. So Python does not say it; being interrupted means the same.
    """
    client = handle._statefulProcessorApiClient  # noqa: SLF001 - Spark's worker has it, and hands it to nobody else
    tell = client.set_handle_state

    def tell_but_the_end(state: StatefulProcessorHandleState) -> None:
        if state != StatefulProcessorHandleState.CLOSED:
            tell(state)

    client.set_handle_state = tell_but_the_end  # type: ignore[method-assign]
    _OPEN[:] = [client]


class BucketProcessor(StatefulProcessor):
    """Keeps what a bucket keeps: a head with the list of chunks and the small ones, and the large ones by number.

    The operator is unpacked when there are rows. Before a query's first epoch Spark starts a process for every
    operator, only to hear what it keeps, and what the operator imports would take most of that process's time.
    """

    def __init__(self, operator: Bucketed) -> None:
        self._packed: bytes = cloudpickle.dumps(operator)  # type: ignore[no-untyped-call]  # no types there

    @cached_property
    def _operator(self) -> Bucketed:
        operator: Bucketed = pickle.loads(self._packed)  # noqa: S301 - what `__init__` has packed
        return operator

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state."""
        self._head = handle.getValueState("head", "list string, small binary")
        self._large = handle.getMapState("chunks", "number int", "chunk binary")
        recent_chunks().begin_round()
        _hold_open(handle)

    def handleInputRows(self, key: object, rows: Iterator[Row], timerValues: object) -> Iterator[Row]:  # noqa: N802, N803
        """One step of one bucket."""
        from engine.updating.head import StoredBucket, read_head  # noqa: PLC0415 - only tasks need it
        from engine.updating.serialization import to_bytes  # noqa: PLC0415

        head = self._head.get()
        stored = StoredBucket() if head is None else read_head(head[0], bytes(head[1]), self._load)
        result = self._operator.step(stored.state, [row.payload for row in rows])
        if result.state is not stored.state:
            self._write(stored, result.state)
        if result.out.num_rows:
            yield Row(payload=to_bytes([result.out]))

    def close(self) -> None:
        """There is nothing to close."""

    def _load(self, chunk: LargeChunk) -> pa.Table:
        from engine.updating.serialization import from_bytes  # noqa: PLC0415 - see above

        def load() -> pa.Table:
            row = self._large.getValue((chunk.number,))
            assert row is not None, chunk
            return from_bytes(bytes(row[0]))[0]

        return recent_chunks().get(chunk.digest, load)

    def _write(self, stored: StoredBucket, state: BucketState) -> None:
        from engine.updating.head import write_head  # noqa: PLC0415 - see above

        write = write_head(stored, state)
        for chunk, (table, content) in write.new_chunks.items():
            self._large.updateValue((chunk.number,), (content,))
            recent_chunks().keep(chunk.digest, table)
        for chunk in write.gone_chunks:
            self._large.removeKey((chunk.number,))
            recent_chunks().forget(chunk.digest)
        self._head.update((write.listing, write.small))


@cache
def recent_chunks() -> RecentChunks:
    """What this process remembers: Spark uses it for many tasks, each with a processor of its own."""
    from engine.updating.chunk_cache import RecentChunks  # noqa: PLC0415 - see above

    return RecentChunks()
