"""Validate the backfill range of each table of a run. Pure.

backfill of rows from 00:00 to 24:00; the state is new
clicks, Kafka, with its own event time   read up to the current end of its partitions
impulses, without an end                 refused: the end of its history is unknown
same range as in the state               accepted: continues where it was
state without this range                 refused: it may have read rows outside of the range
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from types import MappingProxyType

from engine.compile import Program
from engine.connectors import source_kind_of
from engine.connectors.base import HasEnd, Table
from engine.errors import BackfillError
from engine.plan.times import cut_windows
from engine.spark.read.history import History
from engine.spark.read.starts import BegunTable
from engine.values.instants import to_micros
from engine.values.start_positions import Backfill

_NEW_STATE = "give the run a new state directory"


def histories_of(program: Program, backfill: Backfill | None, begun: Mapping[str, BegunTable]) -> Mapping[str, History]:
    """Return the backfill range of each new table. Raise BackfillError if it would not read the requested rows."""
    if backfill is None:
        return MappingProxyType({})
    _check_tables(program, backfill)
    _check_windows(program, backfill)
    asked = {name: _history(name, backfill) for name in program.scans}
    for name, history in asked.items():
        _check_begun(name, history, begun)
    return MappingProxyType({}) if begun else asked


def _history(name: str, backfill: Backfill) -> History:
    stop = backfill.stop_at.get(name)
    return History(
        since=_micros(backfill.since),
        until=_micros(backfill.until),
        stop=() if stop is None else stop.offsets,
        goes_on=backfill.goes_on,
    )


def _micros(instant: datetime | None) -> int | None:
    return None if instant is None else to_micros(instant)


def _check_tables(program: Program, backfill: Backfill) -> None:
    strange = next((name for name in backfill.stop_at if name not in program.scans), None)
    if strange is not None:
        raise BackfillError(f"the script does not read {strange}, whose history is to end at offsets")
    for name, scan in program.scans.items():
        table = program.tables[name]
        if scan.event_time is None and (backfill.since or backfill.until):
            raise BackfillError(
                f"{name} has no event time: its rows are of the moment at which they are read",
                hint="name its event time with 'event_time_field', or choose the range by offsets",
            )
        if scan.is_changes and (backfill.since or backfill.until):
            raise BackfillError(
                f"{name} says what is done to rows, and a part of that makes no rows",
                hint="choose the range by offsets",
            )
        if source_kind_of(table).spark_read(table) is not None:
            raise BackfillError(
                f"{name} is read by Spark, which cannot leave rows out", hint="leave source.reader = 'jvm' out"
            )
        if name in backfill.stop_at and "offsets" not in source_kind_of(table).starts(table.options):
            raise BackfillError(f"{name} has no offsets, so its history cannot end at one")
    ends = [_ends_by_itself(program.tables[name]) for name in program.scans]
    if backfill.goes_on and all(ends):
        raise BackfillError("every table of the script ends by itself: there is nothing to go on with")


def _ends_by_itself(table: Table) -> bool:
    source = source_kind_of(table).open(table)
    if not source.bounded and not isinstance(source, HasEnd):
        raise BackfillError(
            f"{table.name} never ends, and its connector {table.connector} cannot say where it ends now",
            hint="give it an end, such as a number of rows",
        )
    return source.bounded


def _check_windows(program: Program, backfill: Backfill) -> None:
    if backfill.partial_windows:
        return
    edges = [edge for edge in (backfill.since, backfill.until) if edge is not None]
    cuts = cut_windows(program.writes, edges)
    if cuts:
        raise BackfillError(
            f"the range of history cuts through windows: {'; '.join(cuts)}",
            hint="begin and end where windows do, or accept windows with a part of their rows: partial windows",
        )


def _check_begun(name: str, history: History, begun: Mapping[str, BegunTable]) -> None:
    if not begun:
        return
    if name not in begun and history.goes_on:
        return  # of a later script: it has a start position
    if name not in begun:
        raise BackfillError(f"{name} is new in the script of this state, and its history is not read beside the rest")
    before = begun[name].history
    if before is None:
        raise BackfillError(f"the state has begun to read {name} without a range of history", hint=_NEW_STATE)
    if not before.asks_the_same(history):
        raise BackfillError(f"the state has begun to read another range of {name}'s history", hint=_NEW_STATE)


def unsaid_starts(histories: Mapping[str, History], said: Mapping[str, object]) -> Iterator[str]:
    """Return the tables that start at their first record for lack of another setting: their existing records are the
    backfill range."""
    return (name for name in histories if name not in said)
