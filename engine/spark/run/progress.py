"""Convert Spark's progress of an epoch to our figures, and explain which partition holds back the output of a sink.

    clicks                   partition p at 12:05 and q at 12:01; windows are closed up to 12:01
    answer                   q of clicks: it has the oldest rows of all active partitions
    q idle since 11:50       answer: p

The planner records which partition holds back the watermark of each source, and since when (`spark/read/planner.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from engine.checkpoints.late_batches import Stretch
from engine.connectors.base import Table
from engine.plan.times import RowPath, complete_until
from engine.spark.read.planner import Offset
from engine.spark.read.watermarks import END_OF_TIME
from engine.spark.run.operator_times import PlanWork, Work, busy_share
from engine.values.durations import spell_duration
from engine.values.epoch_report import EpochReport, HeldBy, HoldReason, OperatorFigures, SinkProgress, TableFigures
from engine.values.instants import from_micros


@dataclass(frozen=True, slots=True)
class ReadSlices:
    """Counts of the slices that were last read of a table: rows, and dropped records. Spark would count a row once for
    every branch that reads it, unless the branches share a read.

    The fields `rows` and `dropped_in_epoch` are 0 if the slices belong to an earlier epoch; `dropped` counts those,
    too.
    """

    rows: int = 0
    dropped: int = 0
    dropped_in_epoch: int = 0


@dataclass(frozen=True, slots=True)
class WrittenEpoch:
    """Figures of an epoch: the rows read by table; for each sink the rows written and the rows left out so far; up to
    where the output is `settled`; and since when some rows are not visible to readers of a sink. `delivery` is the
    duration of writing; `waited` is how long planners paused while Spark had begun to poll."""

    rows: int
    refused: int
    settled: int | None = None
    held_from: Mapping[str, Sequence[int | None]] = field(default_factory=dict)
    rows_of: Mapping[str, int] = field(default_factory=dict)
    refused_of: Mapping[str, int] = field(default_factory=dict)
    refused_in_epoch: int = 0
    delivery: timedelta = timedelta(0)
    waited: timedelta = timedelta(0)
    read: Mapping[str, ReadSlices] = field(default_factory=dict)
    late: Mapping[str, Sequence[Stretch]] = field(default_factory=dict)
    """Event times of late rows, by sink or table of late rows."""
    delivery_of: Mapping[str, timedelta] = field(default_factory=dict)
    """Duration of the delivery to each sink."""
    plan: str = ""
    """The executed plan with its counts, as `operator_times` reads it; empty if it is not known."""


_SPARK_PHASES: Mapping[str, tuple[str, ...]] = {
    "find": ("latestOffset",),
    "log": ("walCommit",),
    "plan": ("getBatch", "queryPlanning"),
    "commit": ("commitOffsets",),
}
"""Spark's names of the phases of an epoch. `addBatch` is all processing of its rows."""
_COUNTED_OPERATORS: Mapping[str, str] = {
    "stateStoreSave": "windows",
    "sessionWindowStateStoreSaveExec": "sessions",
}
"""Operators whose state has one row per group: Spark's names, and ours."""


def read_progress(
    progress: Mapping[str, object],
    written: WrittenEpoch,
    *,
    keeps_dead_letters: Callable[[str], bool],
    paths: Mapping[str, Collection[RowPath]],
    closes_windows: bool,
    counts_state: bool = False,
    committed_before: datetime | None = None,
    tables: Mapping[str, Table] | None = None,
    work: PlanWork | None = None,
    parallelism: int = 1,
) -> EpochReport:
    """Return the report of an epoch from Spark's progress, as a dict read from its JSON. `paths` are the paths of rows
    to each sink, `keeps_dead_letters` whether dropped records of a table are saved, `counts_state` whether Spark counts
    the rows of state, `committed_before` when the run committed the previous epoch, `tables` the declared tables,
    and `work` that of the executed plan, in a run of so much `parallelism`."""
    ends = [_offset(source["endOffset"]) for source in _list(progress["sources"])]
    offsets = {offset.table: offset for offset in ends}
    marks = {name: offset.promise for name, offset in offsets.items()}
    operators = _list(progress.get("stateOperators", []))
    settled = _settled(progress) if closes_windows else _least(marks)
    rows_read = {table: written.read[table].rows for table in offsets}
    rows_in = sum(rows_read.values())
    late = _late(progress)
    dropped_so_far = {table: offset.dropped + written.read[table].dropped for table, offset in offsets.items()}
    dropped = {**written.refused_of, **dropped_so_far}

    work = work or PlanWork()
    since_asked = _duration(progress)
    duration = max(timedelta(0), since_asked - written.waited)
    # Spark's timestamp is that of the beginning
    at = datetime.fromisoformat(str(progress["timestamp"])) + since_asked
    between = duration if committed_before is None else at - committed_before

    def busy(table: str) -> float | None:
        if table in work.sources:
            return busy_share(work.sources[table], between, parallelism)
        return busy_share(Work(time=written.delivery_of.get(table)), between, 1)

    def table_figures(table: str) -> TableFigures:
        return TableFigures(
            rows_in=rows_read.get(table),
            rows_out=written.rows_of.get(table),
            rows_waiting=offsets[table].waiting if table in offsets else None,
            late_rows=late.get(table),
            dropped_rows=dropped.get(table),
            dead_letters=dropped.get(table) if keeps_dead_letters(table) else None,
            busy=busy(table),
        )

    return EpochReport(
        epoch=int(str(progress["batchId"])),
        rows_in=rows_in,
        rows_out=written.rows,
        rows_per_second=rows_in / between.total_seconds() if between > timedelta(0) else 0.0,
        duration=duration,
        watermark=_instant(settled),
        source_watermarks={name: _instant(mark) for name, mark in marks.items()},
        late_rows=sum(late.values()),
        dropped_rows=written.refused + sum(dropped_so_far.values()),
        dropped_in_epoch=written.refused_in_epoch + sum(written.read[table].dropped_in_epoch for table in offsets),
        rows_waiting=_waiting(offsets.values()),
        state_changes=_total(operators, "numRowsUpdated") + _total(operators, "numRowsRemoved"),
        state_bytes=_total(operators, "memoryUsedBytes"),
        state_rows=_state_rows(operators) if counts_state else {},
        at=at,
        tables={table: table_figures(table) for table in sorted({*rows_read, *written.rows_of, *dropped})},
        phases=_phases(progress, written),
        sinks={table: _reached(table, paths[table], written, offsets, tables or {}) for table in paths},
        operators={
            name: OperatorFigures(
                rows_in=each.rows_in, rows_out=each.rows_out, busy=busy_share(each, between, parallelism)
            )
            for name, each in work.operators.items()
        },
        late=written.late,
        is_last=settled == END_OF_TIME and all(offset.is_end for offset in offsets.values()),
    )


def _reached(
    table: str,
    paths: Collection[RowPath],
    written: WrittenEpoch,
    offsets: Mapping[str, Offset],
    tables: Mapping[str, Table],
) -> SinkProgress:
    marks = {name: offset.promise for name, offset in offsets.items()}
    held_from = written.held_from.get(table, ())
    reached = complete_until(paths, written.settled, marks, held_from)
    read_tables = {path.table for path in paths}
    silent = (name for name, offset in offsets.items() if offset.is_by_clock and not offset.is_end)
    by_clock = tuple(sorted(read_tables.intersection(silent)))
    holder = held_by(paths, offsets, held_from, tables)
    return SinkProgress(_instant(reached.until), _instant(reached.output_until), reached.unknown, by_clock, holder)


def _duration(progress: Mapping[str, object]) -> timedelta:
    durations = progress.get("durationMs")
    millis = int(durations.get("triggerExecution", 0)) if isinstance(durations, Mapping) else 0
    return timedelta(milliseconds=millis)


def _total(operators: Iterable[Mapping[str, object]], name: str) -> int:
    return sum(int(str(operator[name])) for operator in operators)


def _state_rows(operators: Iterable[Mapping[str, object]]) -> Mapping[str, int]:
    """Count the rows of window state, by kind. Updating operators store chunks of many rows, so counting these would be
    meaningless."""
    rows: dict[str, int] = {}
    for operator in operators:
        if (kind := _COUNTED_OPERATORS.get(str(operator.get("operatorName")))) is not None:
            rows[kind] = rows.get(kind, 0) + int(str(operator["numRowsTotal"]))
    return rows


def _settled(progress: Mapping[str, object]) -> int | None:
    """Return the instant up to which the windows of this epoch were closed. Spark's own value is zero until it has one.
    After the end of all input it is after the year 9999, and has a sign."""
    event_time = progress.get("eventTime")
    text = event_time.get("watermark") if isinstance(event_time, Mapping) else None
    if not isinstance(text, str):
        return None
    if text.startswith("+"):
        return END_OF_TIME
    micros = int(datetime.fromisoformat(text).timestamp()) * 1_000_000
    return min(micros, END_OF_TIME) or None


def _late(progress: Mapping[str, object]) -> Mapping[str, int]:
    """Return the number of late rows by their table; those that come from several tables are under an empty name."""
    observed = progress.get("observedMetrics")
    late: dict[str, int] = {}
    for name, row in observed.items() if isinstance(observed, Mapping) else ():
        if isinstance(row, Mapping):
            table = str(name).partition(" ")[2]
            late[table] = late.get(table, 0) + int(row.get("late") or 0)
    return late


def _phases(progress: Mapping[str, object], written: WrittenEpoch) -> Mapping[str, timedelta]:
    durations = progress.get("durationMs")
    if not isinstance(durations, Mapping):
        return {}
    phases = {
        phase: timedelta(milliseconds=sum(int(durations.get(name, 0)) for name in names))
        for phase, names in _SPARK_PHASES.items()
    }
    rows = timedelta(milliseconds=int(durations.get("addBatch", 0)))
    return {
        **phases,
        "find": max(timedelta(0), phases["find"] - written.waited),
        "compute": max(timedelta(0), rows - written.delivery),
        "deliver": written.delivery,
    }


def _offset(text: object) -> Offset:
    content = text
    while isinstance(content, str):
        content = json.loads(content)
    if not isinstance(content, Mapping):
        raise TypeError(text)
    return Offset.from_json(content)


def _least(marks: Mapping[str, int | None]) -> int | None:
    watermarks = [mark for mark in marks.values() if mark is not None]
    return min(watermarks) if watermarks and len(watermarks) == len(marks) else None


def _waiting(offsets: Iterable[Offset]) -> int | None:
    counts = [offset.waiting for offset in offsets if offset.waiting is not None]
    return sum(counts) if counts else None


def _instant(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def _list(value: object) -> list[Mapping[str, object]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


_IN_FILES = "the sink's open files become final: set 'rolling_policy.interval', or wait until they are full"
_HISTORY = "it moves once the history of the source is read"


def held_by(
    paths: Collection[RowPath],
    offsets: Mapping[str, Offset],
    held_from: Collection[int | None],
    tables: Mapping[str, Table],
) -> HeldBy | None:
    """Return what keeps `complete_until` of a sink, which rows reach on those paths, from advancing after an epoch;
    None once its input has ended. `held_from` has, for each of its open files, the instant before which the file has no
    rows."""
    # windows close by the least watermark of all sources of the query
    awaited = offsets if any(path.windows for path in paths) else {path.table for path in paths}
    marks = {name: offsets[name].promise for name in awaited if name in offsets}
    source = min(marks, key=lambda name: _rank(marks[name]), default=None)
    file = min(held_from, key=_rank, default=END_OF_TIME)
    if source is None or _rank(file) < _rank(marks[source]):
        return HeldBy("open_files", _IN_FILES, watermark=_instant(file)) if held_from else None
    if marks[source] == END_OF_TIME:
        return None
    return _held_by_source(offsets[source], tables.get(source))


def _held_by_source(offset: Offset, table: Table | None) -> HeldBy:
    partition, since = offset.held or (None, None)
    reason = _reason(offset)
    return HeldBy(
        reason,
        _remedy(offset, reason, table),
        source=offset.table,
        partition=partition if reason not in ("silent", "history") else None,
        watermark=_instant(offset.watermark if partition is None else offset.marks.get(partition)),
        since=_instant(since),
    )


def _reason(offset: Offset) -> HoldReason:
    partition = None if offset.held is None else offset.held[0]
    if offset.history is not None and not offset.history.is_over:
        return "history"
    if partition is None:
        return "silent" if offset.held is not None else "oldest_rows"
    if offset.marks.get(partition) is None and partition not in offset.moved:
        return "no_rows"
    return "unread_rows" if offset.waiting else "oldest_rows"


def _remedy(offset: Offset, reason: HoldReason, table: Table | None) -> str:
    if reason == "history":
        return _HISTORY
    if reason == "unread_rows":
        return f"{offset.waiting} rows of {offset.table} wait to be read: it moves as they are"
    partition = None if offset.held is None else offset.held[0]
    place = offset.table if partition is None or len(offset.marks) < 2 else f"partition {partition} of {offset.table}"
    row = f"a row in {place} whose watermark expression is later"
    others = _without_a_row(offset, table) if reason in ("no_rows", "oldest_rows", "silent") else ""
    return f"{row}{others}"


def _without_a_row(offset: Offset, table: Table | None) -> str:
    """Return what advances the watermark if no row arrives."""
    if table is None:
        return ""
    if offset.held is not None and offset.held[0] is not None and len(offset.marks) > 1 and table.idle_time is not None:
        return f"; without rows for {spell_duration(table.idle_time)} (idle_time) it holds the others back no longer"
    if table.quiet_after is not None:
        return f"; after {spell_duration(table.quiet_after)} without rows (quiet_after) the clock moves it"
    return "; to let the clock move it when no rows come, set quiet_after"


def _rank(mark: int | None) -> tuple[bool, int]:
    return mark is not None, mark or 0
