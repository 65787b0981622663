"""A source table as a Python data source of Spark's.

Where windows must close, every row carries three columns beside its own: its event time, `_wm`, the watermark of its
epoch, and `_heartbeat`, true on the one row an epoch has so that the watermark arrives even when there is no data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit
from pyspark.sql.types import StructType

from engine import types
from engine.arrow.evaluate import evaluate
from engine.connectors import connector_of
from engine.connectors.base import Chunk, CommitListener, HasClock, Json, Position, Slice, Source, SparkRead, Table
from engine.connectors.dead_letters import DeadLetterFile
from engine.formats.row_ids import row_ids
from engine.plan.hidden import EVENT_TIME, HEARTBEAT, RETRACT, ROW_ID, WATERMARK
from engine.plan.nodes import Scan
from engine.schema import Field, Schema, arrow_schema
from engine.spark import notes
from engine.spark.dead_letters import DeadLetterNotes
from engine.spark.planner import Offset, Planner
from engine.spark.safe_names import safe_name
from engine.spark.spark_types import spark_schema
from engine.spark.watermarks import Activity

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

LAST_ROWS = 8192
"""How many of the last rows of a partition's range say what its watermark is."""


CHANGES = Schema((Field(RETRACT, types.BOOLEAN), Field(ROW_ID, types.BIGINT)))
"""Hidden columns of a change stream."""
BARE = Schema(())
"""Hidden columns where nothing looks at time."""
WITH_TIME = Schema((Field(EVENT_TIME, types.TIMESTAMP),))
"""Hidden columns where a sink wants the event time."""
WITH_WATERMARK = Schema((*WITH_TIME, Field(HEARTBEAT, types.BOOLEAN), Field(WATERMARK, types.TIMESTAMP)))
"""Hidden columns where windows must close."""


@dataclass(frozen=True, slots=True)
class ScanSpec:
    """All that a planner and its tasks must know of one source table."""

    table: Table
    scan: Scan
    notes: Path
    others: tuple[Path, ...]
    tasks: int
    max_rows: int | None
    hidden: Schema
    wakes_after: timedelta | None = None

    @property
    def schema(self) -> Schema:
        """What Spark sees of the table."""
        changes = CHANGES if self.scan.is_changes else Schema(())
        return Schema((*self.scan.columns, *changes, *self.hidden))

    @property
    def beats(self) -> bool:
        """Whether each epoch has a heartbeat."""
        return self.hidden == WITH_WATERMARK

    @property
    def spark_read(self) -> SparkRead | None:
        """How Spark reads it itself, if it does."""
        return connector_of(self.table).spark_read(self.table)

    def open(self) -> Source:
        """The table's source."""
        opener = connector_of(self.table).open_source
        if opener is None:
            raise AssertionError(self.table.connector)
        return opener(self.table)


@dataclass(frozen=True, slots=True)
class Piece:
    """A slice to read, which slice of its partition it is, and where that partition's range ends."""

    piece: Slice
    index: int
    end: Position


class Task(InputPartition):
    """What one Spark task reads: some slices, and for the first one the heartbeat of the epoch, with the watermark that
    holds from then on."""

    def __init__(self, pieces: tuple[Piece, ...], watermark: int, planned: int, beat: int | None) -> None:
        self.pieces = pieces
        self.watermark = watermark
        self.planned = planned
        self.beat = beat


class Reader(DataSourceStreamReader):
    """Plans in a process on the driver, reads in the tasks."""

    def __init__(self, spec: ScanSpec) -> None:
        self.spec = spec
        self._planner: Planner | None = None

    @property
    def planner(self) -> Planner:
        """Made where it is first needed: a reader that only reads has none."""
        if self._planner is None:
            source = self.spec.open()
            activity = Activity(self.spec.table.idle_time, {})
            clock = source.now if isinstance(source, HasClock) else _now
            spec = self.spec
            name = spec.table.name
            self._planner = Planner(
                name, source, spec.notes, spec.others, activity, clock, spec.tasks, spec.max_rows, spec.wakes_after
            )
        return self._planner

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Our own limit is in `latestOffset`."""
        return ReadAllAvailable()

    def initialOffset(self) -> dict[str, Json]:  # noqa: N802 - Spark's name
        """Before anything was read."""
        return self.planner.first().to_json()

    def latestOffset(self, start: dict[str, Json], limit: ReadLimit) -> dict[str, Json]:  # noqa: N802
        """Where the next epoch ends."""
        before = Offset.from_json(start)
        after = self.planner.next(before)
        return start if after is before else after.to_json()

    def partitions(self, start: Mapping[str, Json], end: Mapping[str, Json]) -> list[Task]:
        """The tasks of an epoch: its slices dealt out evenly."""
        first, last = Offset.from_json(start), Offset.from_json(end)
        source, tasks = self.planner.source, self.spec.tasks
        pieces = [
            Piece(piece, index, last.positions[name])
            for name, count in last.moved.items()
            for index, piece in enumerate(source.slices(name, _start(source, first, name), last.positions[name], count))
        ]
        count = max(1, min(tasks, len(pieces)))
        bounds = [len(pieces) * step // count for step in range(count + 1)]
        beat = (last.promise or 0) if self.spec.beats else None
        return [
            Task(tuple(pieces[low:high]), last.watermark or 0, last.planned, beat if low == 0 else None)
            for low, high in pairwise(bounds)
        ]

    def commit(self, end: Mapping[str, Json]) -> None:
        """An epoch is committed."""
        source = self.planner.source
        if isinstance(source, CommitListener):
            source.acknowledge(Offset.from_json(end).positions)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a task, then a note for the planner about each slice."""
        task = cast("Task", partition)
        if task.beat is not None:
            yield _heartbeat(self.spec, task.beat)
        if task.pieces:
            source = self.spec.open()
            for piece in task.pieces:
                yield from self._read_piece(source, task, piece)

    def _read_piece(self, source: Source, task: Task, piece: Piece) -> Iterator[pa.RecordBatch]:
        reading = Reading(self.spec, piece, task.watermark, task.planned)
        for chunk in source.read(piece.piece):
            rows = reading.take(chunk)
            if rows is not None:
                yield rows
        reading.close()


class Reading:
    """Takes the chunks of a piece, in order, and gives Spark its rows. What was not rows is written down in the end:
    dead letters, and a note for the planner, which holds the number of rows too if they are `counted` here."""

    def __init__(self, spec: ScanSpec, piece: Piece, watermark: int, planned: int, *, counted: bool = False) -> None:
        self._spec = spec
        self._piece = piece
        self._watermark = watermark
        self._planned = planned
        self._tail = _Tail()
        self._dropped = 0
        self._rows = 0 if counted else None
        self._dead_letters = _dead_letter_taker(spec, piece, planned)

    def take(self, chunk: Chunk) -> pa.RecordBatch | None:
        """The rows of a chunk, with what is hidden; None when there are none."""
        self._dropped += chunk.dropped
        if self._dead_letters is not None:
            self._dead_letters.add(chunk.dead_letters)
        if chunk.rows.num_rows == 0:
            return None
        if self._rows is not None:
            self._rows += chunk.rows.num_rows
        times = _event_times(self._spec.scan, chunk.rows, self._planned)
        rows = chunk.rows.append_column(EVENT_TIME, times)
        self._tail.add(evaluate(self._spec.scan.watermark, rows))
        return _finish(self._spec, rows, self._watermark)

    def close(self) -> None:
        """Write down what was seen beside the rows."""
        if self._dead_letters is not None:
            self._dead_letters.close()
        piece = self._piece
        note = notes.Note(piece.end, self._tail.least(), self._dropped, self._rows)
        notes.leave(self._spec.notes, piece.piece.partition, piece.index, note)


def _dead_letter_taker(spec: ScanSpec, piece: Piece, planned: int) -> DeadLetterFile | DeadLetterNotes | None:
    part, table = piece.piece, spec.table
    if table.dead_letter_table is not None:
        return DeadLetterNotes(spec.notes, part.partition, piece.index, piece.end, planned)
    if table.dead_letter_directory is not None:
        return DeadLetterFile(table.dead_letter_directory, table.name, part.partition, part.start, part.end)
    return None


def source_class(spec: ScanSpec, reader: type[Reader] = Reader, shown: StructType | None = None) -> type[DataSource]:
    """A data source of its own for one table; Spark finds it by the name it is registered under."""

    class EngineSource(DataSource):
        @classmethod
        def name(cls) -> str:
            return format_name(spec.table.name)

        def schema(self) -> StructType:
            return shown or spark_schema(spec.schema)

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
            return reader(spec)

    return EngineSource


def streamed(spark: SparkSession, table: str) -> DataFrame:
    """What streams of a table whose data source is registered."""
    return spark.readStream.format(format_name(table)).load()


def format_name(table: str) -> str:
    """The name a table's data source is registered under."""
    return f"arroyo_{safe_name(table)}"


def _start(source: Source, first: Offset, partition: str) -> Position:
    return first.positions[partition] if partition in first.positions else source.start(partition)


class _Tail:
    """The watermark values of the last rows seen."""

    def __init__(self) -> None:
        self._parts: list[pa.Array] = []
        self._rows = 0

    def add(self, values: pa.Array) -> None:
        if len(values) >= LAST_ROWS:
            self._parts, self._rows = [values.slice(len(values) - LAST_ROWS)], LAST_ROWS
            return
        self._parts.append(values)
        self._rows += len(values)
        while self._rows - len(self._parts[0]) >= LAST_ROWS:
            self._rows -= len(self._parts.pop(0))

    def least(self) -> int | None:
        import pyarrow as pa  # noqa: PLC0415 - `arroyo check` must not pay for Arrow
        import pyarrow.compute as pc  # noqa: PLC0415

        if not self._parts:
            return None
        values = pa.chunked_array([part.cast(pa.int64()) for part in self._parts])
        last = values.slice(max(0, self._rows - LAST_ROWS))
        least = pc.min(last).as_py()
        return None if least is None else int(least)


def _event_times(scan: Scan, rows: pa.RecordBatch, planned: int) -> pa.Array:
    if scan.event_time is None:
        return _repeat(planned, rows.num_rows)
    return evaluate(scan.event_time, rows)


def _finish(spec: ScanSpec, rows: pa.RecordBatch, watermark: int) -> pa.RecordBatch:
    import pyarrow as pa  # noqa: PLC0415 - see `_Tail.least`

    columns = [rows.column(field.name) for field in spec.scan.columns]
    if spec.scan.is_changes:
        columns += [rows.column(RETRACT), row_ids([rows.column(name) for name in spec.table.primary_key])]
    hidden = {EVENT_TIME: rows.column(EVENT_TIME)}
    if spec.beats:
        hidden[HEARTBEAT] = pa.repeat(pa.scalar(False), rows.num_rows)
        hidden[WATERMARK] = _repeat(watermark, rows.num_rows)
    columns += [hidden[field.name] for field in spec.hidden]
    return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(spec.schema))


def _heartbeat(spec: ScanSpec, watermark: int) -> pa.RecordBatch:
    import pyarrow as pa  # noqa: PLC0415 - see `_Tail.least`

    schema = arrow_schema(spec.schema)
    columns = [pa.nulls(1, field.type) for field in schema]
    columns[-2:] = [pa.array([True]), _repeat(watermark, 1)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _repeat(micros: int, count: int) -> pa.Array:
    import pyarrow as pa  # noqa: PLC0415 - see `_Tail.least`

    return pa.repeat(pa.scalar(micros, pa.timestamp("us", tz="UTC")), count)


def _now() -> datetime:
    return datetime.now(UTC)
