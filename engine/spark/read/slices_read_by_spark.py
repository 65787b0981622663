"""Tables that a data source of Spark reads. The stream contains only the slices of an epoch.

Planner, offsets and notes are the same as for other tables, so a replay reads the same slices. The rows enter the epoch
as a batch, so this suits only plans without state.

    stream           ("clicks", "p0", "9", "12", planned 12:00:08, watermark 12:00:05)
    read             Spark's data source reads p0 from 9 to 12 as a batch
    result           the rows of clicks, decoded by our tasks, which write a note as usual
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, cast

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.datasource import DataSource, InputPartition
from pyspark.sql.types import LongType, StringType, StructField, StructType

from engine.connectors.base import Slice
from engine.errors import MissingPackageError, message_of
from engine.spark.map_in_arrow import map_in_arrow
from engine.spark.read.reading import SliceReading
from engine.spark.read.scan_spec import AssignedSlice, EpochMoment, ScanSpec
from engine.spark.read.source import Reader, Task, source_class, streamed
from engine.spark.spark_types import spark_schema

if TYPE_CHECKING:
    import pyarrow as pa

    from engine.connectors.base import SparkRead

_TEXTS = ("table", "partition", "start", "end")
_NUMBERS = ("planned", "watermark")
SLICES = StructType(
    [*(StructField(name, StringType()) for name in _TEXTS), *(StructField(name, LongType()) for name in _NUMBERS)]
)
"""A slice of a table, with its positions as JSON, and the times of its epoch."""
_PARTITION = "_partition"


class SliceReader(Reader):
    """Plans like every reader, and emits the slices as rows instead of reading them."""

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the slices of a task."""
        import pyarrow as pa  # noqa: PLC0415 - only tasks need it

        task = cast("Task", partition)
        rows = [
            {
                "table": self.spec.table.name,
                "partition": assigned.slice.partition,
                "start": json.dumps(assigned.slice.start),
                "end": json.dumps(assigned.slice.end),
                "planned": task.moment.planned,
                "watermark": task.moment.watermark,
            }
            for assigned in task.slices
        ]
        types = [pa.string()] * len(_TEXTS) + [pa.int64()] * len(_NUMBERS)
        yield pa.RecordBatch.from_pylist(rows, schema=pa.schema(list(zip((*_TEXTS, *_NUMBERS), types, strict=True))))


def stream_slices(spark: SparkSession, specs: Mapping[str, ScanSpec]) -> DataFrame:
    """Return the slices of all tables, as a stream. Raise if Spark has no source that can read one of them."""
    for name, spec in specs.items():
        _must_be_there(spark, _read_of(spec), name)
        spark.dataSource.register(_slices_class(spec))
    return reduce(DataFrame.union, [streamed(spark, name) for name in specs])


def tables_of(spark: SparkSession, specs: Mapping[str, ScanSpec], rows: DataFrame) -> Mapping[str, DataFrame]:
    """Return the rows of every table in an epoch of slices."""
    slices = rows.collect()
    return {
        name: _rows_of(spark, spec, _read_of(spec), [row for row in slices if row.table == name])
        for name, spec in specs.items()
    }


def _read_of(spec: ScanSpec) -> SparkRead:
    read = spec.spark_read
    assert read is not None, spec.table.name  # `compile` has refused it
    return read


def _slices_class(spec: ScanSpec) -> type[DataSource]:
    # Spark reads a range of a partition in one task: no use in cutting it
    return source_class(replace(spec, plan=replace(spec.plan, tasks=1)), SliceReader, SLICES)


def _must_be_there(spark: SparkSession, read: SparkRead, table: str) -> None:
    try:
        spark.read.format(read.format).options(**read.probe).load()
    except AnalysisException as missing:
        if "DATA_SOURCE" not in str(missing.getCondition()) and "Failed to find data source" not in message_of(missing):
            raise
        raise MissingPackageError(
            f"Spark has no source {read.format!r} to read {table} with",
            hint=f"name its Java archives in ARROYO_JARS, or leave {read.option} out",
        ) from missing


def _rows_of(spark: SparkSession, spec: ScanSpec, read: SparkRead, rows: Sequence[Row]) -> DataFrame:
    slices = slices_of(rows)
    schema = spark_schema(spec.schema)
    if not slices:
        return spark.createDataFrame([], schema)
    options = read.options_of([assigned.slice for assigned in slices.values()])
    raw = spark.read.format(read.format).options(**options).load()
    columns = raw.selectExpr(f"{read.partition} AS {_PARTITION}", *read.columns)
    decode = _decoder(spec, read, slices, EpochMoment(rows[0].watermark, rows[0].planned))
    # pyspark cannot pass on every name that users give
    numbered = StructType([StructField(f"c{index}", field.dataType) for index, field in enumerate(schema)])
    return map_in_arrow(columns, decode, numbered).toDF(*schema.names)


def slices_of(rows: Sequence[Row]) -> Mapping[str, AssignedSlice]:
    """Return one slice for each partition; another reader may have split the epoch into several."""
    slices: dict[str, AssignedSlice] = {}
    for row in rows:
        start, end = json.loads(row.start), json.loads(row.end)
        if row.partition in slices:
            start = slices[row.partition].slice.start
        slices[row.partition] = AssignedSlice(Slice(row.partition, start, end), 0, end)
    return slices


def _decoder(
    spec: ScanSpec, read: SparkRead, slices: Mapping[str, AssignedSlice], moment: EpochMoment
) -> Callable[[Iterator[object]], Iterator[object]]:
    """Return the task function for Spark's rows of one slice; it is made on the driver and runs in a worker."""

    def decode(batches: Iterator[object]) -> Iterator[object]:
        import pyarrow as pa  # noqa: PLC0415 - only tasks need it
        import pyarrow.compute as pc  # noqa: PLC0415

        readings: dict[str, SliceReading] = {}
        for batch in cast("Iterator[pa.RecordBatch]", batches):
            partitions = batch.column(0)
            for name in partitions.unique().to_pylist():
                if name not in readings:
                    readings[name] = SliceReading(spec, slices[name], moment)
                raw = batch.filter(pc.equal(partitions, name)).select(list(read.columns))
                rows = readings[name].take(read.chunk(name, raw))
                if rows is not None:
                    yield pa.RecordBatch.from_arrays(rows.columns, names=[f"c{i}" for i in range(rows.num_columns)])
        for reading in readings.values():
            reading.close()

    return decode
