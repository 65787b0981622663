"""Our own stateful operators: rows are distributed to shards, and a task advances its shards together.

Rows are packed as Arrow into one binary column, because Spark passes rows to stateful Python value by value.

    rows of two tasks      key a: 3 rows, key b: 1                      key a: 2 rows, key c: 1
    packed                 (shard 5, a 3), (shard 9, b 1)               (shard 5, a 2; c 1)
    step of the task       shard 5 adds a 5 and c 1 to its state, shard 9 adds b 1; changed rows are emitted, packed
    unpacked               the changed rows of all tasks, as columns

See docs/decisions/updating-state-is-kept-in-buckets.md.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pyspark import TaskContext, cloudpickle
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.streaming.stateful_processor_api_client import (
    StatefulProcessorApiClient,
    StatefulProcessorHandleState,
)
from pyspark.sql.streaming.stateful_processor_util import TransformWithStateInPandasUdfUtils
from pyspark.sql.types import BinaryType, StructType
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from engine.spark.map_in_arrow import map_in_arrow
from engine.spark.state.bucket_store import BucketStore

if TYPE_CHECKING:
    import pyarrow as pa

    from engine.updating.bucket_state import BucketState, LargeChunk, StepsResult, StoredBucket
    from engine.updating.chunk_cache import RecentChunks

PACKED = "bucket int, payload binary"
_NO_TIMERS = "None"
LABELS = (
    22362, 14516, 2769, 23448, 10632, 3429, 10128, 4288, 2478, 9968, 13154, 10200, 11261, 5168, 24584, 4532,
    36311, 5904, 7980, 3289, 7231, 29594, 8141, 3473, 77571, 32254, 52694, 38566, 26776, 32186, 40463, 10805,
)  # fmt: skip
"""Names of the shards in Spark's state: the smallest numbers whose hash modulo 10,080 is 0, 1, 2, ... So any number of
tasks that divides 10,080 gets shards in turn, and the tasks differ by at most one shard."""


class Packing(Protocol):
    """Distribution of a task's rows to shards."""

    def pack(self, rows: pa.Table) -> Iterator[tuple[int, bytes]]:
        """Return the packed rows of each shard."""


class Bucketed(Packing, Protocol):
    """A stateful operator: how a task distributes its rows, and the step of a shard."""

    def steps(self, states: Mapping[int, BucketState], payloads: Mapping[int, Sequence[bytes]]) -> StepsResult:
        """Return one epoch of some shards, by their numbers."""


def run_in_buckets(
    parts: Sequence[tuple[DataFrame, Bucketed]], operator: Bucketed, schema: StructType, asked_in: int | None = None
) -> DataFrame:
    """Return the output rows of the steps of all shards, with the columns of `schema`. Each input has its packing. In
    the epoch `asked_in` all shards take a step, triggered by an empty payload."""
    packed = reduce(DataFrame.union, [map_in_arrow(rows, packer(packing, asked_in), PACKED) for rows, packing in parts])
    return map_in_arrow(stepped(packed, StepsTogether(BucketProcessor(operator))), unpack, schema)


def stepped(packed: DataFrame, together: StepsTogether, time_mode: str = _NO_TIMERS) -> DataFrame:
    """Return the output of `transformWithState`, but let one call take the steps of many shards, and do not import
    pandas."""
    out = StructType().add("payload", BinaryType())
    steps = UserDefinedFunction(
        together.transformWithStateUDF, out, evalType=PythonEvalType.SQL_TRANSFORM_WITH_STATE_PYTHON_ROW_UDF
    )
    spark, grouped = packed.sparkSession, packed.groupBy("bucket")
    schema = spark._jsparkSession.parseDataType(out.json())  # noqa: SLF001 - Spark has no other way
    columns = steps(*(packed[name] for name in packed.columns))._jc  # noqa: SLF001 - see above
    frame = grouped._jgd.transformWithStateInPySpark(columns, schema, "append", time_mode, None, "")  # noqa: SLF001
    return DataFrame(frame, spark)


_EPOCH = "streaming.sql.batchId"
"""Spark's name of the epoch number among the local properties of a task."""
_BYTES_AT_ONCE = 32 << 20
"""Limit for the rows and large chunks of the shards that are advanced together, so that the memory of a task does not
grow with the state."""
_ROWS_SENT_AT_ONCE = 500_000
"""Limit of rows per packed value, since a value can have at most two gigabytes."""
_ROWS_AT_ONCE = 200_000
"""Number of rows that a task pre-aggregates together before packing. The more rows, the fewer are sent."""


def packer(
    operator: Packing, asked_in: int | None = None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the task function that packs rows for their shards."""

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
    """Return the number of the epoch to which a task belongs."""
    task = TaskContext.get()
    number = None if task is None else task.getLocalProperty(_EPOCH)
    assert number is not None, "a task belongs to an epoch"
    return int(number)


def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn the output of shards into rows."""
    from engine.updating.serialization import from_bytes  # noqa: PLC0415 - only tasks need it

    for batch in batches:
        for payload in batch.column(0):
            for table in from_bytes(payload.as_buffer()):
                yield from table.to_batches()


_OPEN: list[StatefulProcessorApiClient] = []


def hold_open(handle: StatefulProcessorHandle) -> None:
    """Keep a task's connection to its state open until the next task of this process begins.

    At the end of a task Spark interrupts the thread that listens to that connection, which closes it. If Python
    announces its end before, nothing listens, and the connection stays open for good: one file of the JVM for each task
    of each epoch, until no more can be opened. So Python does not announce it; the interruption has the same effect."""
    client = handle._statefulProcessorApiClient  # noqa: SLF001 - Spark's worker has it, and hands it to nobody else
    tell = client.set_handle_state

    def tell_but_the_end(state: StatefulProcessorHandleState) -> None:
        if state != StatefulProcessorHandleState.CLOSED:
            tell(state)

    client.set_handle_state = tell_but_the_end  # type: ignore[method-assign]
    _OPEN[:] = [client]


class BucketProcessor(StatefulProcessor):
    """Stores the state of shards: for each a head with its small chunks and a list of all, and the large chunks by
    number.

    Rows are collected so that the shards of a task advance together. Shards with much state or many rows advance
    earlier, a few at a time.

    The operator is unpickled only when there are rows: before the first epoch Spark starts a process for every operator
    just to learn its state variables, and the operator's imports would take most of that time.
    """

    def __init__(self, operator: Packing) -> None:
        self._packed: bytes = cloudpickle.dumps(operator)  # type: ignore[no-untyped-call]  # no types there
        self._gathered: dict[int, list[bytes]] = {}

    @cached_property
    def _operator(self) -> Bucketed:
        operator: Bucketed = pickle.loads(self._packed)  # noqa: S301 - what `__init__` has packed
        return operator

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self.keep_in(BucketStore(handle))
        hold_open(handle)

    def keep_in(self, store: BucketStore) -> None:
        """Begin a task whose state is in the store."""
        self._store = store
        recent_chunks().begin_round()

    def handleInputRows(self, key: tuple[int], rows: Iterator[Row], timerValues: object) -> Iterator[Row]:  # noqa: N802, N803
        """Gather the rows of one shard."""
        self._gathered[key[0]] = [row.payload for row in rows]
        if sum(len(payload) for payloads in self._gathered.values() for payload in payloads) > _BYTES_AT_ONCE:
            yield from self.take_steps()

    def take_steps(self) -> Iterator[Row]:
        """Yield the output of the steps of all shards for which rows were gathered."""
        gathered, self._gathered = self._gathered, {}
        group: dict[int, StoredBucket] = {}
        held = 0
        for label, head in zip(gathered, self._store.heads(list(gathered)) if gathered else (), strict=True):
            group[label] = stored = _read_bucket(self._store, label, head)
            held += sum(table.nbytes for table in stored.large.values())
            if held > _BYTES_AT_ONCE:
                yield from self._step(group, gathered)
                group, held = {}, 0
        yield from self._step(group, gathered)

    def steps_of(self, states: Mapping[int, BucketState], payloads: Mapping[int, Sequence[bytes]]) -> StepsResult:
        """Return one epoch of some shards, by their numbers."""
        return self._operator.steps(states, payloads)

    def kept(self, before: Mapping[int, BucketState], after: Mapping[int, BucketState]) -> None:
        """Receive the previous and the new state of some shards, by their labels."""

    def close(self) -> None:
        """Do nothing: nothing needs to be closed."""

    def _step(self, group: Mapping[int, StoredBucket], gathered: Mapping[int, Sequence[bytes]]) -> Iterator[Row]:
        from engine.updating.serialization import to_bytes  # noqa: PLC0415 - only tasks need it

        if not group:
            return
        numbers = {label: LABELS.index(label) for label in group}
        states = {numbers[label]: stored.state for label, stored in group.items()}
        result = self.steps_of(states, {numbers[label]: gathered[label] for label in group})
        after = {label: result.states[number] for label, number in numbers.items()}
        _write_buckets(self._store, group, after)
        self.kept({label: stored.state for label, stored in group.items()}, after)
        for first in range(0, result.out.num_rows, _ROWS_SENT_AT_ONCE):
            yield Row(payload=to_bytes([result.out.slice(first, _ROWS_SENT_AT_ONCE)]))


def _read_bucket(store: BucketStore, label: int, head: tuple[str, bytes] | None) -> StoredBucket:
    """Read the state of a shard by its head."""
    from engine.updating.bucket_state import StoredBucket, read_head  # noqa: PLC0415 - only tasks need it
    from engine.updating.serialization import from_bytes  # noqa: PLC0415 - only tasks need it

    def load(chunk: LargeChunk) -> pa.Table:
        return recent_chunks().get(chunk.digest, lambda: from_bytes(store.chunks(label, [chunk])[0])[0])

    return StoredBucket() if head is None else read_head(*head, load)


def _write_buckets(store: BucketStore, before: Mapping[int, StoredBucket], after: Mapping[int, BucketState]) -> None:
    """Write the changes of some shards, by their labels."""
    from engine.updating.bucket_state import write_head  # noqa: PLC0415 - only tasks need it
    from engine.updating.serialization import from_bytes  # noqa: PLC0415 - only tasks need it

    writes = {
        label: write_head(before[label], state) for label, state in after.items() if state is not before[label].state
    }
    store.write(writes)
    for write in writes.values():
        for chunk, (_, content) in write.new_chunks.items():
            # of the bytes, since a table may be a part of one of all buckets, which would stay with it
            recent_chunks().keep(chunk.digest, from_bytes(content)[0])
        for chunk in write.gone_chunks:
            recent_chunks().forget(chunk.digest)


class StepsTogether(TransformWithStateInPandasUdfUtils):
    """Lets a processor collect the rows of a task and advance all shards at the end, in Spark's hook for timers."""

    def __init__(self, processor: BucketProcessor, time_mode: str = _NO_TIMERS) -> None:
        super().__init__(processor, time_mode)
        self._processor = processor

    def _handle_data_rows(
        self,
        stateful_processor_api_client: StatefulProcessorApiClient,
        key: tuple[int],
        input_rows: Iterator[Any] | None = None,
    ) -> Iterator[Row]:
        return self._processor.handleInputRows(key, input_rows or iter(()), None)

    def _handle_expired_timers(self, stateful_processor_api_client: StatefulProcessorApiClient) -> Iterator[Row]:
        return self._processor.take_steps()


@cache
def recent_chunks() -> RecentChunks:
    """Return the cache of this process: Spark uses it for many tasks, each with a processor of its own."""
    from engine.updating.chunk_cache import RecentChunks  # noqa: PLC0415 - see above

    return RecentChunks(folder=Path(os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).split(",")[0]))
