"""Validate the start positions of a run. Pure.

    the script reads clicks and orders; the state has read clicks, from `earliest` on
    clicks=earliest                     no effect: the state began there
    clicks=latest                       refused: the state already has a position in clicks
    orders=timestamp:2026-01-01...      accepted: orders was not read yet
    orders=savepoint                    refused: the state has no position in orders

The start position of a table is in its offsets, so it is part of every copy of the state.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from engine.changes.compare import compare
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.running_query import RunningQuery, compile_running, query_of_state
from engine.checkpoints.spark_log import numbers
from engine.compile import Program
from engine.connectors import source_kind_of
from engine.errors import StartPositionError
from engine.inspection.retry_reads import read_again
from engine.spark.read.history import History
from engine.spark.read.offset_log import read_ends
from engine.udf.declared import UdfFile
from engine.values.start_positions import StartPosition, StartWord

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
