"""Compare the progress of two pipelines that read the same tables, before one continues in place of the other.

The comparison uses the ends of epochs in both offset logs, as they are on disk. Nothing is claimed or changed, so both
pipelines may be running.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from engine.checkpoints import spark_log
from engine.checkpoints.layout import StatePaths, read_json, unreadable, write_json
from engine.compile import Program
from engine.connectors import source_kind_of
from engine.connectors.base import HasEnd, Position, Source
from engine.spark.read import meeting
from engine.spark.read.offset_log import read_ends
from engine.spark.read.planner import Offset, shown_marks
from engine.spark.read.scan_spec import format_name
from engine.values.instants import from_micros


@dataclass(frozen=True, slots=True)
class Standing:
    """Progress of a pipeline: the newest committed epoch, the ends of its tables in it, and their ends in the newest
    planned epoch."""

    epoch: int
    ends: tuple[Offset, ...]
    planned: tuple[Offset, ...]
    is_settled: bool
    """Whether every planned epoch is committed."""

    @property
    def reads_history(self) -> bool:
        """Whether a table is still in its backfill range."""
        return any(end.history is not None and not end.history.is_over for end in self.ends)

    @property
    def since(self) -> datetime | None:
        """Return the instant before which the pipeline has left rows out."""
        instants = [end.history.since for end in self.ends if end.history is not None and end.history.since is not None]
        return from_micros(max(instants)) if instants else None

    def has_closed(self, instant: datetime) -> bool:
        """Whether no open window has rows from before the instant. False for a table without rows so far, since the
        windows that it will close are unknown."""
        marks = [end.watermark for end in self.ends]
        has_rows = any(end.moved or end.watermark is not None for end in self.ends)
        return not has_rows or all(mark is not None and from_micros(mark) > instant for mark in marks)


def standing(state: Path) -> Standing | None:
    """Return how far the pipeline with this state has read; None before its first epoch."""
    checkpoint = StatePaths(state).checkpoint
    committed = spark_log.newest_commit(checkpoint)
    if committed is None:
        return None
    planned = max(spark_log.numbers(checkpoint / "offsets"), default=committed)
    ends = tuple(_with_last_rows(state, end) for end in read_ends(checkpoint, committed))
    return Standing(committed, ends, tuple(read_ends(checkpoint, planned)), planned == committed)


def _with_last_rows(state: Path, end: Offset) -> Offset:
    """Return the end with the values that the rows of its epoch have shown, so that a successor closes the same windows
    next."""
    notes_of_table = StatePaths(state).watermarks / format_name(end.table)
    shown = shown_marks(end, notes_of_table)
    return replace(end, marks=shown.partitions, largest=shown.largest)


def sources_of(program: Program) -> Mapping[str, Source]:
    """Return the tables that a program reads, to compare positions in them; no external system is contacted."""
    sources: dict[str, Source] = {}
    for name in program.scans:
        sources[name] = source_kind_of(program.tables[name]).open(program.tables[name])
    return sources


def unmet(program: Program) -> Sequence[str]:
    """Return the tables in which two pipelines cannot reach the same position."""
    return [
        name
        for name, source in sources_of(program).items()
        if not isinstance(source, HasEnd) or source_kind_of(program.tables[name]).spark_read(program.tables[name])
    ]


def has_read(sources: Mapping[str, Source], at: Sequence[Offset], ends: Sequence[Offset]) -> bool:
    """Whether all rows before `ends` are before `at`, too."""
    return all(_has_passed(sources[end.table], end, other) for end in ends for other in at if other.table == end.table)


def is_behind(sources: Mapping[str, Source], at: Sequence[Offset], ends: Sequence[Offset]) -> bool:
    """Whether a pipeline at `at` can reach the furthest of `ends`: it has read nothing after them, and closed no window
    that is open there."""
    of_table = furthest(sources, ends)
    return all(
        offset.table in of_table
        and _has_passed(sources[offset.table], offset, of_table[offset.table])
        and _is_not_later(offset.watermark, of_table[offset.table].watermark)
        for offset in at
    )


def have_met(sources: Mapping[str, Source], at: Sequence[Offset], ends: Sequence[Offset]) -> bool:
    """Whether a pipeline at `at` has reached `ends`, including the watermarks."""
    of_table = by_table(ends)
    return of_table is not None and all(
        offset.table in of_table
        and meeting.has_met(of_table[offset.table].positions, sources[offset.table], offset.positions)
        and offset.watermark == of_table[offset.table].watermark
        for offset in at
    )


def by_table(ends: Sequence[Offset]) -> Mapping[str, Offset] | None:
    """Return the end of each table; None if two scans of one table have reached different positions."""
    found: dict[str, Offset] = {}
    for end in ends:
        first = found.setdefault(end.table, end)
        if (first.positions, first.watermark) != (end.positions, end.watermark):
            return None
    return found


def furthest(sources: Mapping[str, Source], ends: Sequence[Offset]) -> Mapping[str, Offset]:
    """Return, for each table, the end that every scan of it can reach: after the rows that any of them has read, with
    the latest watermark."""
    found: dict[str, Offset] = {}
    for end in ends:
        first = found.setdefault(end.table, end)
        found[end.table] = replace(
            first,
            positions=_furthest(sources[end.table], first.positions, end.positions),
            marks={name: _later(first.marks.get(name), end.marks.get(name)) for name in {**first.marks, **end.marks}},
            watermark=_later(first.watermark, end.watermark),
        )
    return found


def ask(state: Path, ends: Mapping[str, Offset]) -> None:
    """Let the next runs of a state stop at these ends."""
    write_json(StatePaths(state).meeting, {table: end.to_json() for table, end in ends.items()})


def has_come(sources: Mapping[str, Source], state: Path, at: Standing) -> bool:
    """Whether the pipeline of a state has reached the requested ends, and has planned nothing that reads or closes
    more; False if none were requested."""
    asked = list(read_meeting(StatePaths(state)).values())
    return bool(asked) and have_met(sources, at.ends, asked) and have_met(sources, at.planned, asked)


def release(state: Path) -> None:
    """Let the next runs of a state continue to read."""
    with suppress(FileNotFoundError):
        StatePaths(state).meeting.unlink()


def read_meeting(paths: StatePaths) -> Mapping[str, Offset]:
    """Return the ends at which a run is to stop, by table; empty if it continues."""
    content = read_json(paths.meeting) or {}
    try:
        return {table: Offset.from_json(end) for table, end in content.items()}  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError) as error:
        raise unreadable(paths.meeting) from error


def _has_passed(source: Source, end: Offset, at: Offset) -> bool:
    positions: Mapping[str, Position] = at.positions
    return meeting.has_passed(end.positions, source, positions)


def _furthest(source: Source, first: Mapping[str, Position], second: Mapping[str, Position]) -> Mapping[str, Position]:
    ahead = {name for name in first if name in second and meeting.has_reached(source, first[name], second[name])}
    return {**first, **{name: at for name, at in second.items() if name not in ahead}}


def _later(mark: int | None, other: int | None) -> int | None:
    return mark if other is None or (mark is not None and mark >= other) else other


def _is_not_later(mark: int | None, other: int | None) -> bool:
    return mark is None or (other is not None and mark <= other)
