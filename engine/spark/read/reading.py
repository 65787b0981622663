"""Convert the chunks of a slice to rows for Spark, and write the note about them.

    a slice of p0, watermark 12:00:00, the table's watermark is its event time less 2 s
    a chunk        (1, 12:00:07), (2, 12:00:05), and one record that cannot be decoded
    Spark's rows   (1, 12:00:07, _wm 12:00:00), (2, 12:00:05, _wm 12:00:00)
    the note       {"candidate": 12:00:03, "dropped": 1, "rows": 2, "largest": 12:00:05}: it moves the watermark of the
                   next epoch

In a backfill, rows outside of the range are dropped, but they still move the watermark. If a plan is fused with its
source, rows that fail its filter are dropped from Spark's rows only. If windows pre-aggregate rows, Spark gets fewer
rows, and later.

See docs/decisions/watermarks-travel-in-offsets.md.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from engine.arrow.evaluate import evaluate
from engine.arrow.merging import MergingRows
from engine.connectors.base import Chunk
from engine.connectors.dead_letters import DeadLetterFile
from engine.errors import OutOfRangeError
from engine.formats.record_rows import row_ids
from engine.plan.nodes import Fused, Partials
from engine.plan.tree import EVENT_TIME, HEARTBEAT, RETRACT, WATERMARK
from engine.schema import arrow_schema
from engine.spark.read import notes
from engine.spark.read.scan_spec import AssignedSlice, EpochMoment, ScanSpec
from engine.spark.read.watermarks import bounded
from engine.spark.write.dead_letters import DeadLetterNotes
from engine.values.instants import to_micros

if TYPE_CHECKING:
    import pyarrow as pa

FIRST_TIME = to_micros(datetime(1, 1, 1, tzinfo=UTC))
LAST_TIME = to_micros(datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC))
"""Range of valid event times."""
LAST_ROWS = 8192
"""Number of last rows of a partition's range that determine its watermark: one chunk. The minimum over the whole range
would come from rows that later rows overtook long ago."""


class SliceReading:
    """Converts the chunks of a slice, in order, to rows for Spark. At the end, writes the dead letters and the note for
    the planner, which includes the number of rows."""

    def __init__(self, spec: ScanSpec, assigned: AssignedSlice, moment: EpochMoment) -> None:
        self._spec = spec
        self._assigned = assigned
        self._moment = moment
        self._last_rows = _LastRows()
        self._dropped = 0
        self._row_count = 0
        self._dead_letters = _dead_letter_taker(spec, assigned, moment.planned)
        self._merging = MergingRows(spec.fused, moment.watermark) if isinstance(spec.fused, Partials) else None

    def take(self, chunk: Chunk) -> pa.RecordBatch | None:
        """Return the rows of a chunk that Spark needs, with the hidden columns; None if there are none. All rows count,
        and advance the watermark."""
        self._dropped += chunk.dropped
        if self._dead_letters is not None:
            self._dead_letters.add(chunk.dead_letters)
        if chunk.rows.num_rows == 0:
            return None
        self._row_count += chunk.rows.num_rows
        event_time = self._spec.scan.event_time
        if event_time is None:
            times = _repeat(self._moment.planned, chunk.rows.num_rows)
        else:
            times = evaluate(event_time, chunk.rows)
            _check_times(times, self._spec.table.name)
        rows = chunk.rows.append_column(EVENT_TIME, times)
        self._last_rows.add(evaluate(self._spec.scan.watermark, rows), self._moment.planned)
        rows = _in_range(rows, self._moment)
        if isinstance(self._spec.fused, Fused):
            rows = _chosen(self._spec.fused, rows)
        return self._for_spark(rows if self._merging is None else self._merging.add(rows))

    def remainder(self) -> pa.RecordBatch | None:
        """Return the rows that wait to be pre-aggregated with others, after the last chunk."""
        return None if self._merging is None else self._for_spark(self._merging.flush())

    def _for_spark(self, rows: pa.RecordBatch | None) -> pa.RecordBatch | None:
        return _with_hidden(self._spec, rows, self._moment.watermark) if rows is not None and rows.num_rows else None

    def close(self) -> None:
        """Write the note about the slice."""
        if self._dead_letters is not None:
            self._dead_letters.close()
        assigned = self._assigned
        shown = self._last_rows
        note = notes.ReaderNote(
            assigned.end, shown.least(), self._dropped, self._row_count, shown.largest, assigned.count
        )
        notes.leave(self._spec.plan.notes, assigned.slice.partition, assigned.index, note)


def heartbeat(spec: ScanSpec, watermark: int) -> pa.RecordBatch:
    """Return the heartbeat row of an epoch, which has no data, with the watermark that holds from then on."""
    import pyarrow as pa  # noqa: PLC0415 - see `_LastRows.least`

    schema = arrow_schema(spec.schema)
    columns = [pa.nulls(1, field.type) for field in schema]
    columns[-2:] = [pa.array([True]), _repeat(watermark, 1)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _dead_letter_taker(
    spec: ScanSpec, assigned: AssignedSlice, planned: int
) -> DeadLetterFile | DeadLetterNotes | None:
    table, partition = spec.table, assigned.slice.partition
    if table.dead_letter_table is not None:
        return DeadLetterNotes(spec.plan.notes, partition, assigned.index, assigned.end, planned)
    if table.dead_letter_directory is not None:
        start, end = assigned.slice.start, assigned.slice.end
        return DeadLetterFile(table.dead_letter_directory, table.name, partition, start, end)
    return None


class _LastRows:
    """Watermark values of the last rows, and the largest of all that are not ahead of the clock: a row of the year 9999
    would make all later rows late."""

    def __init__(self) -> None:
        self._parts: list[pa.Array] = []
        self._count = 0
        self.largest: int | None = None

    def add(self, values: pa.Array, now: int) -> None:
        """Take the values of some rows; `now` is when their epoch was planned."""
        largest = _largest_until(values, now)
        if largest is not None:
            self.largest = largest if self.largest is None else max(self.largest, largest)
        if len(values) >= LAST_ROWS:
            self._parts, self._count = [values.slice(len(values) - LAST_ROWS)], LAST_ROWS
            return
        self._parts.append(values)
        self._count += len(values)
        while self._count - len(self._parts[0]) >= LAST_ROWS:
            self._count -= len(self._parts.pop(0))

    def least(self) -> int | None:
        import pyarrow as pa  # noqa: PLC0415 - `arroyo check` must not pay for Arrow
        import pyarrow.compute as pc  # noqa: PLC0415

        if not self._parts:
            return None
        values = pa.chunked_array([part.cast(pa.int64()) for part in self._parts])
        least = pc.min(values.slice(max(0, self._count - LAST_ROWS))).as_py()
        return None if least is None else bounded(int(least))


def _check_times(times: pa.Array, table: str) -> None:
    """Raise OutOfRangeError if an event time is not in the years 1 to 9999: no watermark can follow it."""
    import pyarrow as pa  # noqa: PLC0415 - see `_LastRows.least`
    import pyarrow.compute as pc  # noqa: PLC0415

    extremes = pc.min_max(times.cast(pa.int64())).as_py()
    for micros in (extremes["min"], extremes["max"]):
        if micros is not None and not FIRST_TIME <= micros <= LAST_TIME:
            raise OutOfRangeError(
                f"a row of {table} has an event time {micros} microseconds from 1970, "
                "which is not in the years 1 to 9999",
                hint="correct the record, or compute the event time from another column",
            )


def _largest_until(values: pa.Array, now: int) -> int | None:
    """Return the largest value that is not later than `now`; None if there is none."""
    import pyarrow as pa  # noqa: PLC0415 - see `_LastRows.least`
    import pyarrow.compute as pc  # noqa: PLC0415

    micros = values.cast(pa.int64())
    largest = pc.max(micros).as_py()
    if largest is not None and largest > now:
        largest = pc.max(micros.filter(pc.less_equal(micros, now))).as_py()
    return None if largest is None else bounded(int(largest))


def _in_range(rows: pa.RecordBatch, moment: EpochMoment) -> pa.RecordBatch:
    """Return the rows of the backfill range that is read; rows without an event time are in none."""
    if moment.since is None and moment.until is None:
        return rows
    import pyarrow as pa  # noqa: PLC0415 - see `_LastRows.least`
    import pyarrow.compute as pc  # noqa: PLC0415

    times = rows.column(EVENT_TIME).cast(pa.int64())
    if moment.since is not None:
        rows = rows.filter(pc.greater_equal(times, moment.since))
        times = rows.column(EVENT_TIME).cast(pa.int64())
    return rows if moment.until is None else rows.filter(pc.less(times, moment.until))


def _chosen(fused: Fused, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows that pass the pushed-down filter, with the columns that are read."""
    is_wanted = evaluate(fused.condition, rows)
    narrow = rows.select([*fused.columns.names, EVENT_TIME])
    return narrow if is_wanted.true_count == rows.num_rows else narrow.filter(is_wanted)


def _with_hidden(spec: ScanSpec, rows: pa.RecordBatch, watermark: int) -> pa.RecordBatch:
    import pyarrow as pa  # noqa: PLC0415 - see `_LastRows.least`

    columns = [rows.column(field.name) for field in spec.columns]
    if spec.scan.is_changes:
        columns += [rows.column(RETRACT), row_ids([rows.column(name) for name in spec.table.primary_key])]
    hidden = {EVENT_TIME: rows.column(EVENT_TIME)}
    if spec.has_heartbeat:
        hidden[HEARTBEAT] = pa.repeat(pa.scalar(False), rows.num_rows)
        hidden[WATERMARK] = _repeat(watermark, rows.num_rows)
    columns += [hidden[field.name] for field in spec.hidden]
    return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(spec.schema))


def _repeat(micros: int, count: int) -> pa.Array:
    import pyarrow as pa  # noqa: PLC0415 - see `_LastRows.least`

    return pa.repeat(pa.scalar(micros, pa.timestamp("us", tz="UTC")), count)
