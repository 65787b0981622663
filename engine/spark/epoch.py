"""One epoch: what the stream part released goes through the epoch part and into the sinks, once.

All sinks are written in one pass over the rows: tasks write segments and answer with messages, then the driver lets
each sink take its epoch. Nothing is visible before that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it
from pyspark.sql.types import BinaryType, IntegerType, LongType, StructField, StructType

from engine.connectors import connector_of
from engine.connectors.base import Epoch, SegmentWriter, Sink, SinkContext, Table
from engine.delivery.faults import Point, reach
from engine.delivery.file_ledger import read_ledger, refused_so_far
from engine.errors import NullValueError
from engine.plan.hidden import EVENT_TIME
from engine.plan.nodes import Branch, is_updating
from engine.plan.split import Parts
from engine.plan.tree import walk
from engine.schema import Field, Schema, arrow_schema
from engine.spark.lower import epoch_lowering
from engine.spark.lower.rows import quoted
from engine.spark.safe_names import safe_name
from engine.spark.source import CHANGES
from engine.spark.spark_types import spark_schema
from engine.spark.whole_changes import WholeChanges
from engine.types import TIMESTAMP

if TYPE_CHECKING:
    import pyarrow as pa

TAG = "_sink"
_MESSAGE = StructType(
    [StructField("sink", IntegerType()), StructField("rows", LongType()), StructField("message", BinaryType())]
)


@dataclass(frozen=True, slots=True)
class Target:
    """A sink of a job: its table, where it keeps its own files, and whether its rows are taken back and replaced."""

    table: Table
    place: SinkContext
    is_updating: bool = False

    @property
    def needs_event_time(self) -> bool:
        """Whether its writer is given the event time as a last column."""
        return connector_of(self.table).needs_event_time(self.table.options)

    @property
    def wakes_after(self) -> timedelta | None:
        """How long the input may be silent before it wants an epoch all the same."""
        return connector_of(self.table).wakes_after(self.table.options)

    @property
    def schema(self) -> Schema:
        """The columns that its writer is given."""
        hidden = (Field(EVENT_TIME, TIMESTAMP),) if self.needs_event_time else ()
        return Schema((*self.table.schema, *(CHANGES if self.is_updating else ()), *hidden))

    @property
    def drops_all(self) -> bool:
        """Whether its rows need not even leave Spark."""
        return connector_of(self.table).drops_all

    @property
    def refused(self) -> int:
        """How many rows it has left out so far, since nothing took them."""
        may_refuse = connector_of(self.table).may_refuse_rows and self.table.bad_data != "fail"
        return refused_so_far(read_ledger(self.place.directory)) if may_refuse else 0

    def open(self) -> Sink:
        """The table's sink."""
        opener = connector_of(self.table).open_sink
        if opener is None:
            raise AssertionError(self.table.connector)
        return opener(self.table, self.place)


@dataclass(slots=True)
class EpochPart:
    """What is done with the rows of each epoch; `lookups` has the tables that rows are looked up in, and into
    `dead_letter_targets` goes what is no row."""

    parts: Parts
    targets: Sequence[Target]
    lookups: Mapping[str, Table]
    dead_letter_targets: Sequence[Target] = ()
    _is_known_read: bool = field(default=False, init=False, compare=False, repr=False)

    @property
    def branch_schemas(self) -> Sequence[Schema]:
        """The columns with which each branch leaves the stream part."""
        hidden = (Field(EVENT_TIME, TIMESTAMP),) if self.carries_time else ()
        return [
            Schema((*branch.schema, *(CHANGES if is_updating(branch) else ()), *hidden))
            for branch in self.parts.branches
        ]

    @property
    def carries_time(self) -> bool:
        """Whether a sink or the epoch part itself wants the event time, so that branches must carry it."""
        return self.parts.reads_time or any(target.needs_event_time for target in self.targets)

    @property
    def refused(self) -> int:
        """How many rows the sinks have left out so far."""
        return sum(target.refused for target in (*self.targets, *self.dead_letter_targets))

    @property
    def wakes_after(self) -> timedelta | None:
        """How long the input may be silent before a sink wants an epoch all the same."""
        return min(filter(None, (one.wakes_after for one in (*self.targets, *self.dead_letter_targets))), default=None)

    @property
    def is_plain(self) -> bool:
        """Whether every branch is one sink's rows as they are, so that nothing is left to do but to write them."""
        plain = tuple(write.input for write in self.parts.writes) == tuple(
            Branch(index, branch.schema) for index, branch in enumerate(self.parts.branches)
        )
        return plain and not self.carries_time and not any(one.drops_all for one in self.targets)

    def run(self, frame: DataFrame, epoch: Epoch) -> int:
        """Write an epoch into all sinks; the number of rows that went out."""
        reads = sum(isinstance(node, Branch) for write in self.parts.writes for node in walk(write))
        again = reads > 1 and not self.is_plain
        frame = frame.persist() if again else frame
        try:
            return self._write(frame, epoch)
        finally:
            if again:
                frame.unpersist()

    def _write(self, frame: DataFrame, epoch: Epoch) -> int:
        written = [index for index, target in enumerate(self.targets) if not target.drops_all]
        messages: list[tuple[int, int, bytes]] = []
        is_computed = False
        if written:
            for_sinks = self._for_sinks(frame, written)
            writer = _writer([self.targets[index] for index in written], epoch)
            rows = _numbered(for_sinks).mapInArrow(writer, _MESSAGE).collect()
            messages = [(written[row.sink], row.rows, bytes(row.message)) for row in rows]
            is_all = len(written) == len(self.targets) or len(self.parts.branches) == 1
            is_computed = is_all and self._is_read(for_sinks)
        if not is_computed:
            # what nobody wants must be computed all the same: it may hold state
            frame.write.format("noop").mode("append").save()
        commit_sinks(self.targets, epoch, messages)
        return sum(count for _, count, _ in messages)

    def _is_read(self, for_sinks: DataFrame) -> bool:
        """Whether Spark reads what was released: it does not, where it can tell that no row would be left of it. What
        it can tell is the same in every epoch."""
        if not self._is_known_read:
            leaves = for_sinks._jdf.queryExecution().optimizedPlan().collectLeaves()  # noqa: SLF001 - nothing else says it
            if all(leaves.apply(index).nodeName() in _EMPTY for index in range(leaves.size())):
                return False
            self._is_known_read = True
        return True

    def _for_sinks(self, frame: DataFrame, written: Sequence[int]) -> DataFrame:
        """The rows for all sinks in one frame: as they are for one sink, else each in a struct beside the number of its
        sink."""
        if self.is_plain:
            return frame
        lowering = epoch_lowering(untag(frame, self.parts.branches), self.lookups)
        schemas = [self.targets[index].schema for index in written]
        frames = [
            lowering.lower(self.parts.writes[index]).select(*map(quoted, schema.names))
            for index, schema in zip(written, schemas, strict=True)
        ]
        return frames[0] if len(frames) == 1 else tag(frames, schemas)


def commit_sinks(targets: Sequence[Target], epoch: Epoch, messages: Sequence[tuple[int, int, bytes]]) -> None:
    """Let each sink take the epoch, one after the other; of a message there is the sink's number, the rows, and what
    the task has said."""
    for index, target in enumerate(targets):
        target.open().commit(epoch, [message for sink, _, message in messages if sink == index])


def tag(frames: Sequence[DataFrame], schemas: Sequence[Schema]) -> DataFrame:
    """Several frames as one: the number of the frame, and a nullable struct for each with its columns."""
    tagged = []
    for number, frame in enumerate(frames):
        structs = [
            (
                F.struct(*(quoted(name) for name in schema.names))
                if index == number
                else F.lit(None).cast(spark_schema(schema))
            ).alias(f"s{index}")
            for index, schema in enumerate(schemas)
        ]
        tagged.append(frame.select(F.lit(number).alias(TAG), *structs))
    union = tagged[0]
    for other in tagged[1:]:
        union = union.union(other)
    return union


_EMPTY = ("LocalRelation", "EmptyRelation")
"""What Spark has in the place of rows that it need not read."""


def _numbered(frame: DataFrame) -> DataFrame:
    """The frame with its columns numbered, but for the tag: pyspark cannot pass on every name that users give."""
    names = frame.columns
    return frame.toDF(*(name if name == TAG else f"c{index}" for index, name in enumerate(names)))


def untag(frame: DataFrame, branches: Sequence[object]) -> list[DataFrame]:
    """The frames that were tagged, apart again."""
    if len(branches) == 1:
        return [frame]
    return [frame.filter(F.col(TAG) == number).select(f"s{number}.*") for number in range(len(branches))]


def _writer(targets: Sequence[Target], epoch: Epoch) -> Callable[[Iterator[object]], Iterator[object]]:
    """What a task does with its rows; made on the driver, run in a worker."""

    def write(batches: Iterator[object]) -> Iterator[object]:
        context = TaskContext.get()
        return write_task(targets, epoch, batches, context.partitionId() if context is not None else 0)

    return write


def write_task(targets: Sequence[Target], epoch: Epoch, batches: Iterator[object], task: int) -> Iterator[object]:
    """Write a task's rows into the segments of each sink, and answer with a message for each that got any."""
    import pyarrow as pa  # noqa: PLC0415 - only tasks need it
    import pyarrow.compute as pc  # noqa: PLC0415

    writers: dict[int, SegmentWriter] = {}
    counts: dict[int, int] = {}

    def take(number: int, rows: pa.RecordBatch) -> None:
        if not rows.num_rows:
            return
        if number not in writers:
            writer = targets[number].open().open(epoch, task)
            writers[number] = WholeChanges(writer) if targets[number].is_updating else writer
        _refuse_nulls(targets[number].table, rows)
        counts[number] = counts.get(number, 0) + rows.num_rows
        writers[number].write(rows)

    schemas = [arrow_schema(target.schema) for target in targets]
    for batch in batches:
        if not isinstance(batch, pa.RecordBatch):
            raise TypeError(type(batch))
        if batch.schema.names[0] != TAG:
            take(0, pa.RecordBatch.from_arrays(batch.columns, schema=schemas[0]))
            continue
        for number, schema in enumerate(schemas):
            mine = batch.filter(pc.equal(batch.column(0), number)).column(number + 1)
            take(number, pa.RecordBatch.from_arrays(mine.flatten(), schema=schema))
    for number, writer in writers.items():
        message = writer.close()
        reach(Point.WHILE_STAGING, epoch.number)
        yield pa.RecordBatch.from_arrays(
            [pa.array([number], pa.int32()), pa.array([counts[number]]), pa.array([message], pa.binary())],
            names=["sink", "rows", "message"],
        )


def _refuse_nulls(table: Table, rows: pa.RecordBatch) -> None:
    """Raise when NULL stands in a column that the sink declares NOT NULL."""
    for declared, column in zip(table.schema, rows.columns, strict=False):
        if not declared.nullable and column.null_count:
            raise NullValueError(
                f"NULL came for column {declared.name!r} of {table.name}, which is NOT NULL",
                hint=f"give it a value with coalesce({declared.name}, ...), or declare the column without NOT NULL",
            )


def sink_directory(state: Path, table: str) -> Path:
    """Where a sink keeps its own files."""
    return state / "sinks" / safe_name(table)
