"""Create the empty checkpoint of a query: Spark's names of its operators, with empty state.

The stream part of a program runs for one epoch over sources without rows:

    SELECT tumble(...), count(*) FROM clicks ...;  SELECT user, sum(price) FROM orders ...

    offsets/0                   a line for clicks, then one for orders, in Spark's order of the sources; each has the
                                start of the table's planner, and the folder of its notes
    state/0/_metadata/metadata  operator 0 is a "stateStoreSave"
    state/0/0/_metadata/schema  its key and value columns
    state/0/0/1_77c1.zip        its partition 0, empty: a snapshot without a changelog, so it fits any version
    state/1/...                 operator 1 is a "transformWithStateInPySparkExec"
    commits/0                   the ids of all of them

No source or sink is opened. `checkpoints/carry_over.py` copies existing state into this checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadLimit

from engine.compile import Program
from engine.connectors.base import Json, SinkContext
from engine.spark.jvm.session import leave_state
from engine.spark.read.planner import Offset
from engine.spark.read.scan_spec import EpochMoment, format_name
from engine.spark.read.source import Reader, Task, streamed
from engine.spark.run.epoch import EpochPart
from engine.spark.run.stream import EpochLimits, lowered, open_tables, register_functions, scan_specs
from engine.spark.write.targets import Target

if TYPE_CHECKING:
    import pyarrow as pa

_PARTITIONS = "spark.sql.shuffle.partitions"
_CHANGELOGS = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
"""Spark setting for changelogs, off: Spark then writes a snapshot of every version, which depends on no earlier
version."""
_NO_MOMENT = EpochMoment(0, 0)


class EmptyReader(Reader):
    """Plans one epoch without rows, and opens nothing."""

    def initialOffset(self) -> dict[str, Json]:  # noqa: N802 - Spark's name
        """Return the offset before the only epoch."""
        name = self.spec.table.name
        return {"table": name, "notes": format_name(name), "first": Offset(name, {}, {}).to_json(), "beat": 0}

    def latestOffset(self, start: dict[str, Json], limit: ReadLimit) -> dict[str, Json]:  # noqa: N802
        """Return the offset after the only epoch."""
        return {**self.initialOffset(), "beat": 1}

    def partitions(self, start: Mapping[str, Json], end: Mapping[str, Json]) -> list[Task]:
        """Return one task that reads nothing."""
        return [Task((), _NO_MOMENT, None)]

    def commit(self, end: Mapping[str, Json]) -> None:
        """Do nothing: no source needs to know."""

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield no rows."""
        return iter(())


def build_skeleton(spark: SparkSession, program: Program, parallelism: int, target: Path) -> None:
    """Write the checkpoint of a program that has committed one epoch without rows into the new folder `target`, with
    this many partitions of state. No other query may run in the session, which is left unchanged."""
    with as_snapshots(spark, parallelism):
        frame = _stream(spark, program)
        query = (
            frame.writeStream.foreachBatch(_compute)
            .option("checkpointLocation", str(target.absolute()))
            .outputMode("append")
            .start()
        )
        try:
            query.processAllAvailable()
        finally:
            query.stop()
            leave_state(spark)


def as_snapshots(spark: SparkSession, parallelism: int) -> AbstractContextManager[None]:
    """Let Spark write full snapshots of states during the context, with this many partitions."""
    return _settings(spark, {_PARTITIONS: str(parallelism), _CHANGELOGS: "false"})


def _stream(spark: SparkSession, program: Program) -> DataFrame:
    """Return the stream of `stream_part` over empty sources."""
    register_functions(spark, program)
    epoch = EpochPart(program.parts, [_target(program, write.table).receiving(write) for write in program.writes], {})
    specs = scan_specs(program, epoch, Path(), EpochLimits(1, None))
    tables = open_tables(spark, specs, EmptyReader)
    if program.whole is None and not any(spec.spark_read for spec in specs.values()):
        return lowered(program, epoch, tables)
    # slices stream, which keep nothing
    return reduce(DataFrame.union, [streamed(spark, name).selectExpr("1 AS slice") for name in specs])


def _target(program: Program, table: str) -> Target:
    """Return a sink that is asked which rows it needs, and is never opened."""
    return Target(program.tables[table], SinkContext(Path()))


def _compute(rows: DataFrame, _: int) -> None:
    rows.write.format("noop").mode("append").save()


@contextmanager
def _settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set other settings of a session during the context."""
    before = {name: str(spark.conf.get(name)) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
