"""A source table as a Python data source of Spark.

If windows must close, every row has three more columns: its event time, `_wm` (the watermark of its epoch), and
`_heartbeat`. `_heartbeat` is true on the one extra row per epoch that carries the watermark even if there is no data.

    epoch 8 of two tasks, p0 from 9 to 12 in slices a and b, p1 from 4 to 8 in slice c
    task 0   the heartbeat, then slice a        rows to Spark, and a note about a
    task 1   slices b and c                     rows to Spark, and a note about each

`planner` plans the epochs, and `reading` processes the rows of a slice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, cast

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit
from pyspark.sql.types import StructType

from engine.connectors.base import CommitListener, HasClock, HasPatience, Json, Position, Source
from engine.delivery.outbox import stay_on_driver
from engine.plan.times import fixed_delay
from engine.spark.read.planner import Offset, Planner
from engine.spark.read.pulses import announce, beat
from engine.spark.read.scan_spec import AssignedSlice, EpochMoment, ScanSpec, format_name
from engine.spark.read.watermarks import Activity, Silence
from engine.spark.run.pace import PaceFile, PlannerPause
from engine.spark.spark_types import spark_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


class Task(InputPartition):
    """Work of one Spark task: some slices, and in the first task the heartbeat row of the epoch."""

    def __init__(self, slices: tuple[AssignedSlice, ...], moment: EpochMoment, heartbeat: int | None) -> None:
        self.slices = slices
        self.moment = moment
        self.heartbeat = heartbeat


class Reader(DataSourceStreamReader):
    """Plans in a process on the driver, reads in the tasks."""

    def __init__(self, spec: ScanSpec) -> None:
        self.spec = spec
        self._planner: Planner | None = None
        self._waiting: PlannerPause | None = None

    @property
    def planner(self) -> Planner:
        """Return the planner, which is created on first use: a reader that only reads needs none."""
        if self._planner is None:
            stay_on_driver()
            source = self.spec.open()
            clock = source.now if isinstance(source, HasClock) else _now
            activity = Activity(self.spec.table.idle_time, {})
            self._planner = Planner(self.spec.plan, source, activity, clock, _silence(self.spec))
        return self._planner

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return no limit: our own limit is in `latestOffset`."""
        return ReadAllAvailable()

    def initialOffset(self) -> dict[str, Json]:  # noqa: N802 - Spark's name
        """Return the offset before anything is read."""
        return self.planner.first().to_json()

    def latestOffset(self, start: dict[str, Json], limit: ReadLimit) -> dict[str, Json]:  # noqa: N802
        """Return the end of the next epoch."""
        before, pulse = Offset.from_json(start), self.spec.plan.pulse
        # a planner may be there already: a query that is new asks for its first offset before this
        if pulse is not None and self._waiting is None:
            source = self.planner.source
            announce(pulse, source.patience if isinstance(source, HasPatience) else timedelta(0))
            self._waiting = PlannerPause(PaceFile(pulse.parent), before.table, self.spec.plan.linger)
        if self._waiting is not None:
            self._waiting.wait()
        after = self.planner.next(before)
        if pulse is not None:
            beat(pulse, is_planned=after is not before)
        return start if after is before else after.to_json()

    def partitions(self, start: Mapping[str, Json], end: Mapping[str, Json]) -> list[Task]:
        """Return the tasks of an epoch: its slices in even parts, neighbours together."""
        first, last = Offset.from_json(start), Offset.from_json(end)
        slices = self._slices(first, last)
        since, until = (None, None) if last.history is None else (last.history.since, last.history.until)
        moment = EpochMoment(last.watermark or 0, last.planned, since, until)
        watermark = (last.promise or 0) if self.spec.has_heartbeat else None
        count = max(1, min(self.spec.plan.tasks, len(slices)))
        bounds = [len(slices) * step // count for step in range(count + 1)]
        return [Task(tuple(slices[low:high]), moment, None if low else watermark) for low, high in pairwise(bounds)]

    def commit(self, end: Mapping[str, Json]) -> None:
        """Tell the source that an epoch is committed."""
        source = self.planner.source
        if self.spec.tells_source and isinstance(source, CommitListener):
            source.acknowledge(Offset.from_json(end).positions)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a task, then a note for the planner about each slice."""
        from engine.spark.read.reading import heartbeat  # noqa: PLC0415 - planners begin sooner without what decodes rows

        task = cast("Task", partition)
        if task.heartbeat is not None:
            yield heartbeat(self.spec, task.heartbeat)
        if task.slices:
            source = self.spec.open()
            for assigned in task.slices:
                yield from self._read_slice(source, assigned, task.moment)

    def _slices(self, first: Offset, last: Offset) -> list[AssignedSlice]:
        """Return the slices of an epoch; those of a partition are adjacent, in order."""
        source = self.planner.source
        assigned: list[AssignedSlice] = []
        for partition, count in last.moved.items():
            start, end = _start(source, first, partition), last.positions[partition]
            slices = source.slices(partition, start, end, count)
            assigned += [AssignedSlice(part, index, end, len(slices)) for index, part in enumerate(slices)]
        return assigned

    def _read_slice(self, source: Source, assigned: AssignedSlice, moment: EpochMoment) -> Iterator[pa.RecordBatch]:
        from engine.spark.read.reading import SliceReading  # noqa: PLC0415 - see `read`

        reading = SliceReading(self.spec, assigned, moment)
        for chunk in source.read(assigned.slice):
            rows = reading.take(chunk)
            if rows is not None:
                yield rows
        if (rows := reading.remainder()) is not None:
            yield rows
        reading.close()


def source_class(
    spec: ScanSpec, reader: type[Reader] = Reader, row_schema: StructType | None = None
) -> type[DataSource]:
    """Return a data source class for one table; Spark finds it by its registered name. It returns the rows of the
    table, unless the `reader` returns others."""

    class EngineSource(DataSource):
        @classmethod
        def name(cls) -> str:
            return format_name(spec.table.name)

        def schema(self) -> StructType:
            return row_schema or spark_schema(spec.schema)

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
            return reader(spec)

    return EngineSource


def streamed(spark: SparkSession, table: str) -> DataFrame:
    """Return the stream of a table whose data source is registered."""
    return spark.readStream.format(format_name(table)).load()


def _start(source: Source, first: Offset, partition: str) -> Position:
    return first.positions[partition] if partition in first.positions else source.start(partition)


def _silence(spec: ScanSpec) -> Silence:
    delay = fixed_delay(spec.scan.event_time, spec.scan.watermark)
    return Silence() if delay is None else Silence(spec.table.quiet_after, delay)


def _now() -> datetime:
    return datetime.now(UTC)
