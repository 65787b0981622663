"""Explain which partition holds back the output of a sink. Pure.

    clicks                   partition p at 12:05 and q at 12:01; windows are closed up to 12:01
    answer                   q of clicks: it has the oldest rows of all active partitions
    q idle since 11:50       answer: p

The planner records which partition holds back the watermark of each source, and since when (`spark/read/planner.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from engine.connectors.base import Table
from engine.plan.times import RowPath
from engine.spark.read.planner import Offset
from engine.spark.read.watermarks import END_OF_TIME
from engine.values.durations import spell_duration
from engine.values.epoch_report import HeldBy, HoldReason
from engine.values.instants import from_micros

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


def _instant(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
