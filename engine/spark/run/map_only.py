"""Source tasks that run the whole plan. The stream contains only the slices of an epoch.

    stream           "slice 0 of p0 from 9 to 12, planned 12:00:08, watermark 12:00:05"
    task             decodes the slice, filters rows, computes columns, and writes a segment
    result           the message about the segment, and the usual note about the slice

Planner, offsets and notes are the same as for other tables, so a later run may execute the plan in either way. See
docs/decisions/sources-leave-out-what-no-query-wants.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StringType, StructField, StructType

from engine.arrow.evaluate import evaluate
from engine.connectors.base import Epoch, Slice
from engine.plan.placement.whole import WholeBranch
from engine.spark.read.reading import SliceReading
from engine.spark.read.scan_spec import AssignedSlice, EpochMoment, ScanSpec
from engine.spark.read.source import Reader, Task, source_class, streamed
from engine.spark.write.targets import Target
from engine.spark.write.write_segments import rows_by_sink, write_task

if TYPE_CHECKING:
    import pyarrow as pa

_SLICE = "slice"
SLICES = StructType([StructField(_SLICE, StringType())])


class SliceNames(Reader):
    """Plans like every reader, and emits the slices as rows instead of reading them."""

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the slices of a task, as JSON."""
        import pyarrow as pa  # noqa: PLC0415 - only tasks need it

        task = cast("Task", partition)
        texts = [_to_json(assigned, task.moment) for assigned in task.slices]
        yield pa.RecordBatch.from_arrays([pa.array(texts, pa.string())], names=[_SLICE])


@dataclass(frozen=True, slots=True)
class WholeTasks:
    """Processing of the slices of an epoch in tasks, built on the driver and executed in workers."""

    spec: ScanSpec
    branch: WholeBranch

    def stream(self, spark: SparkSession) -> DataFrame:
        """Return the slices of the table as a stream."""
        spark.dataSource.register(source_class(self.spec, SliceNames, SLICES))
        return streamed(spark, self.spec.table.name)

    def writer(self, targets: Sequence[Target], epoch: Epoch) -> Callable[[Iterator[object]], Iterator[object]]:
        """Return the task function that writes the rows of slices into segments of the target and returns messages;
        without a target it only reads the rows."""

        def write(batches: Iterator[object]) -> Iterator[object]:
            context = TaskContext.get()
            rows = self.rows(batches)
            if targets:
                number = context.partitionId() if context is not None else 0
                yield from write_task(targets, epoch, rows_by_sink(targets, rows), number)
            for _ in rows:
                pass

        return write

    def rows(self, batches: Iterator[object]) -> Iterator[pa.RecordBatch]:
        """Yield the rows for the sink, and a note for the planner about each slice."""
        source = None
        for batch in batches:
            for text in cast("pa.RecordBatch", batch).column(0).to_pylist():
                assigned, moment = _from_json(text)
                source = source or self.spec.open()
                reading = SliceReading(self.spec, assigned, moment)
                for chunk in source.read(assigned.slice):
                    decoded = reading.take(chunk)
                    if decoded is not None:
                        yield _computed(self.branch, decoded)
                reading.close()


def _computed(branch: WholeBranch, rows: pa.RecordBatch) -> pa.RecordBatch:
    import pyarrow as pa  # noqa: PLC0415 - only tasks need it

    for step in branch.steps:
        columns = [evaluate(named.expr, rows) for named in step.columns]
        rows = pa.RecordBatch.from_arrays(columns, names=[named.name for named in step.columns])
    return rows.select(list(branch.names))


def _to_json(assigned: AssignedSlice, moment: EpochMoment) -> str:
    part = assigned.slice
    parts = [part.partition, part.start, part.end, assigned.index, assigned.end, moment.watermark, moment.planned]
    return json.dumps([*parts, moment.since, moment.until, assigned.count])


def _from_json(text: str) -> tuple[AssignedSlice, EpochMoment]:
    partition, start, end, index, range_end, watermark, planned, since, until, count = json.loads(text)
    moment = EpochMoment(watermark, planned, since, until)
    return AssignedSlice(Slice(partition, start, end), index, range_end, count), moment
