"""Write the rows of a task in an epoch into segments, which are invisible before the commit.

    rows of the task    (0, {1}, NULL), (1, NULL, {x}), (0, {2}, NULL)       tagged with the number of the sink
    written             sink 0: a segment with 1 and 2; sink 1: a segment with x
    messages            (0, 2 rows, message of sink 0's writer), (1, 1 row, message of sink 1's writer)

The driver passes the messages to the commits of the sinks.

Delay changelog rows on their way to a sink until the rows of one change are in the same batch.

    input batches    -(1, a)  +(1, b)  -(2, c)     +(2, d)  -(3, e)        with the ids 1, 2 and 3
    output batches   -(1, a)  +(1, b)              -(2, c)  +(2, d)        and the rows of 3 at the end

A sink folds the changelog rows of a batch by id: a retraction alone would become a deletion, and its insert a
creation. See docs/decisions/changes-are-folded-at-the-sink.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.types import ArrayType, BinaryType, IntegerType, LongType, StructField, StructType

from engine.connectors.base import Epoch, SegmentWriter, Table
from engine.delivery.faults import Point, reach
from engine.delivery.outbox import clear, send_rest
from engine.errors import NullValueError
from engine.plan.tree import ROW_ID
from engine.schema import arrow_schema
from engine.spark.tagged_frames import TAG
from engine.spark.write.targets import Target

if TYPE_CHECKING:
    import pyarrow as pa


MESSAGE = StructType(
    [
        StructField("sink", IntegerType()),
        StructField("rows", LongType()),
        StructField("message", BinaryType()),
        StructField("minutes", ArrayType(LongType())),
    ]
)
"""Number of the sink, number of rows, message of its writer, and for late rows their event-time minutes."""
_MINUTE = 60_000_000


def segment_writer(targets: Sequence[Target], epoch: Epoch) -> Callable[[Iterator[object]], Iterator[object]]:
    """Return the task function that writes segments; it is made on the driver and runs in a worker."""

    def write(batches: Iterator[object]) -> Iterator[object]:
        context = TaskContext.get()
        return write_task(
            targets, epoch, rows_by_sink(targets, batches), context.partitionId() if context is not None else 0
        )

    return write


def write_task(
    targets: Sequence[Target], epoch: Epoch, results: Iterable[tuple[int, pa.RecordBatch]], task: int
) -> Iterator[pa.RecordBatch]:
    """Write a task's rows, which have the number of their sink, into the segments of each, and return a message for
    each sink with rows."""
    clear()
    writers: dict[int, SegmentWriter] = {}
    counts: dict[int, int] = {}
    minutes: dict[int, set[int]] = {}
    for number, rows in results:
        # a sink whose first rows come here is opened here: a task without rows for it leaves no empty segment
        if number not in writers:
            writer = targets[number].open().open(epoch, task)
            writers[number] = WholeChanges(writer) if targets[number].is_updating else writer
        _refuse_nulls(targets[number].table, rows)
        counts[number] = counts.get(number, 0) + rows.num_rows
        if targets[number].takes_late_rows:
            minutes.setdefault(number, set()).update(_minutes(rows))
        writers[number].write(_for_writer(targets[number], rows))
    for number, writer in writers.items():
        message = writer.close()
        reach(Point.WHILE_STAGING, epoch.number)
        yield message_of(number, counts[number], message, sorted(minutes.get(number, ())))
    send_rest()


def message_of(sink: int, rows: int, content: bytes, minutes: Sequence[int] = ()) -> pa.RecordBatch:
    """Return a message in the form in which it goes to the driver."""
    import pyarrow as pa  # noqa: PLC0415 - only tasks need it

    kinds = (pa.int32(), pa.int64(), pa.binary(), pa.list_(pa.int64()))
    columns = [pa.array([value], kind) for value, kind in zip((sink, rows, content, minutes), kinds, strict=True)]
    return pa.RecordBatch.from_arrays(columns, names=MESSAGE.names)


def rows_by_sink(targets: Sequence[Target], batches: Iterator[object]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the rows of batches for each sink that has any, with the names of its columns."""
    import pyarrow as pa  # noqa: PLC0415 - only tasks need it

    schemas = [arrow_schema(target.schema) for target in targets]
    for batch in batches:
        assert isinstance(batch, pa.RecordBatch), type(batch)
        yield from _rows_by_sink(batch, schemas)


def _rows_by_sink(batch: pa.RecordBatch, schemas: Sequence[pa.Schema]) -> Iterator[tuple[int, pa.RecordBatch]]:
    import pyarrow as pa  # noqa: PLC0415 - only tasks need it
    import pyarrow.compute as pc  # noqa: PLC0415

    if batch.schema.names[0] != TAG:
        if batch.num_rows:
            yield 0, pa.RecordBatch.from_arrays(batch.columns, schema=schemas[0])
        return
    for number, schema in enumerate(schemas):
        structs = batch.filter(pc.equal(batch.column(0), number)).column(number + 1)
        if len(structs):
            yield number, pa.RecordBatch.from_arrays(structs.flatten(), schema=schema)


def _minutes(rows: pa.RecordBatch) -> Iterator[int]:
    """Yield the minutes since 1970 in which the event times of rows are."""
    import numpy as np  # noqa: PLC0415 - only tasks need it
    import pyarrow as pa  # noqa: PLC0415

    micros = rows.column(rows.num_columns - 1).cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    yield from np.unique(micros.to_numpy(zero_copy_only=False) // _MINUTE).tolist()


def _for_writer(target: Target, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows without the event time if the sink's writer does not know it."""
    if target.needs_event_time or not target.has_event_time:
        return rows
    return rows.select(range(rows.num_columns - 1))


def _refuse_nulls(table: Table, rows: pa.RecordBatch) -> None:
    """Raise if a column that the sink declares NOT NULL has a NULL."""
    for declared, column in zip(table.schema, rows.columns, strict=False):
        if not declared.nullable and column.null_count:
            raise NullValueError(
                f"NULL came for column {declared.name!r} of {table.name}, which is NOT NULL",
                hint=f"give it a value with coalesce({declared.name}, ...), or declare the column without NOT NULL",
            )


MOST_ROWS = 131_072
"""Number of rows to collect before some are written: a batch is in memory as a whole."""


class WholeChanges:
    """Passes large batches to a writer, and never separates a retraction from the insert that follows it."""

    def __init__(self, writer: SegmentWriter) -> None:
        self._writer = writer
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0

    def write(self, rows: pa.RecordBatch) -> None:
        """Take some rows."""
        self._waiting.append(rows)
        self._rows += rows.num_rows
        if self._rows >= MOST_ROWS:
            whole = self._together()
            ids = whole.column(ROW_ID).to_numpy(zero_copy_only=False)
            earlier = (ids != ids[-1]).nonzero()[0]
            cut = int(earlier[-1]) + 1 if len(earlier) else whole.num_rows
            self._writer.write(whole.slice(0, cut))
            self._waiting, self._rows = [whole.slice(cut)], whole.num_rows - cut

    def close(self) -> bytes:
        """Write the rest, and return the messages of all that was written."""
        if self._rows:
            self._writer.write(self._together())
        return self._writer.close()

    def _together(self) -> pa.RecordBatch:
        import pyarrow as pa  # noqa: PLC0415 - only tasks need it

        return pa.concat_batches(self._waiting)
