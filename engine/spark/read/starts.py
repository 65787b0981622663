"""Validate the start positions and the backfill ranges of a run. Pure.

    the script reads clicks and orders; the state has read clicks, from `earliest` on
    clicks=earliest                     no effect: the state began there
    clicks=latest                       refused: the state already has a position in clicks
    orders=timestamp:2026-01-01...      accepted: orders was not read yet
    orders=savepoint                    refused: the state has no position in orders

The start position of a table is in its offsets, so it is part of every copy of the state.

backfill of rows from 00:00 to 24:00; the state is new
clicks, Kafka, with its own event time   read up to the current end of its partitions
impulses, without an end                 refused: the end of its history is unknown
same range as in the state               accepted: continues where it was
state without this range                 refused: it may have read rows outside of the range
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

from engine.changes.compare import compare
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.running_query import RunningQuery, compile_running, query_of_state
from engine.checkpoints.spark_log import numbers
from engine.compile import Program
from engine.connectors import source_kind_of
from engine.connectors.base import HasEnd, Table
from engine.errors import BackfillError, StartPositionError
from engine.inspection.retry_reads import read_again
from engine.plan.times import cut_windows
from engine.spark.read.history import History
from engine.spark.read.offset_log import read_ends
from engine.udf.declared import UdfFile
from engine.values.instants import to_micros
from engine.values.start_positions import Backfill, StartPosition, StartWord

_MOVING: frozenset[StartWord] = frozenset({"latest", "group"})
"""Start positions that mean another position at each evaluation."""


@dataclass(frozen=True, slots=True)
class BegunTable:
    """A table whose position the state has. `start` is its requested start position, if any, and `history` the range of
    a backfill."""

    start: str | None
    history: History | None = None


def begun_tables(checkpoint: Path) -> Mapping[str, BegunTable]:
    """Return the tables that a state has started to read, by name."""
    newest = max(numbers(checkpoint / "offsets"), default=None)
    if newest is None:
        return {}
    return {end.table: BegunTable(end.start, end.history) for end in read_ends(checkpoint, newest) if end.sequence}


def counting_starts(
    program: Program, starts: Mapping[str, StartPosition], begun: Mapping[str, BegunTable]
) -> Mapping[str, StartPosition]:
    """Return the positions at which tables start now. Raise StartPositionError for a position that would be ignored, or
    that its table does not have."""
    return {name: start for name, start in starts.items() if _counts(program, name, start, begun.get(name))}


def _counts(program: Program, name: str, start: StartPosition, begun: BegunTable | None) -> bool:
    if name not in program.scans:
        tables = ", ".join(sorted(program.scans)) or "none"
        raise StartPositionError(f"the script does not read {name}", hint=f"the tables that it reads are {tables}")
    if start.word == "savepoint" and begun is None:
        raise StartPositionError(
            f"{name} cannot go on from the state: the state has no place of it",
            hint="restore a savepoint, name the state directory, or say where the table begins",
        )
    if start.word == "savepoint" or (begun is not None and begun.start == str(start)):
        return False
    if begun is not None:
        raise StartPositionError(
            f"{name} goes on from where its state has it, and cannot begin at {start}",
            hint=f"leave the start position out; to read it again from there, let an upgrade reset {name}, or give "
            "the run a new state directory",
        )
    table = program.tables[name]
    words = source_kind_of(table).starts(table.options)
    if start.word not in words:
        raise StartPositionError(
            f"{name} cannot begin at {start}: its connector {table.connector}, as it is set, has no such place",
            hint=f"it can begin at {', '.join(sorted(words))}",
        )
    return True


def refuse_moved_starts(program: Program, starts: Mapping[str, StartPosition], begun: Mapping[str, BegunTable]) -> None:
    """Raise StartPositionError if a table would start elsewhere than when the query first took over the earlier state,
    and it now takes over that state again."""
    for name in sorted(program.scans.keys() - begun.keys()):
        table = program.tables[name]
        word = starts[name].word if name in starts else source_kind_of(table).declared_start(table.options)
        if word in _MOVING:
            raise StartPositionError(
                f"{name} would begin at {word} once more, which is another place by now: its rows since it began first "
                "would be missing",
                hint="deploy that query again, with a start position for the table: --start-from "
                f"{name}=timestamp:..., or offsets:...",
            )


def with_starts(program: Program, starts: Mapping[str, StartPosition]) -> Program:
    """Return the program with the start positions of its tables."""
    told = {name: replace(program.tables[name], start=start) for name, start in starts.items()}
    return replace(program, tables={**program.tables, **told})


def begun_for(
    place: Path, program: Program, reset: Collection[str], udfs: Sequence[UdfFile] = (), connections: str = ""
) -> Mapping[str, BegunTable]:
    """Return the tables of a program that the state or savepoint from which it continues has started to read; `reset`
    names the tables that are read from the start. The state may be running, and is only read."""
    paths = StatePaths(place)

    def read() -> tuple[RunningQuery | None, Mapping[str, BegunTable]]:
        return query_of_state(place) if paths.pipeline.exists() else None, begun_tables(paths.checkpoint)

    running, begun = read_again(paths, read)
    if running is None or running.fingerprint == program.fingerprint or not begun:
        return begun
    before = compile_running(running, udfs=udfs, connections=connections)
    return begun_after(begun, compare(before, program, reset=reset).dropped_sources)


def begun_after(begun: Mapping[str, BegunTable], anew: Collection[str]) -> Mapping[str, BegunTable]:
    """Return the tables that the state has started to read after a query takes it over that reads some tables from the
    start."""
    return {name: table for name, table in begun.items() if name not in anew}


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
