"""Where the next epoch of one source ends, and what its watermark is.

The answer is Spark's offset, kept in its write-ahead log, so a replay repeats it to the letter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from engine.connectors.base import HasBacklog, HasMovingStart, Json, Position, Source
from engine.spark import notes
from engine.spark.watermarks import END_OF_TIME, Activity, Marks, advance, follow


@dataclass(frozen=True, slots=True)
class Offset:
    """Where an epoch ends. `moved` names the partitions that have rows in it, with the number of slices each was cut
    into; `planned` is the moment it was planned; `beat` only makes it differ from the one before. `watermark` is what
    the rows of the epoch are measured by; after an epoch that `is_end` nothing follows."""

    table: str
    positions: Mapping[str, Position]
    marks: Mapping[str, int | None]
    watermark: int | None = None
    moved: Mapping[str, int] = field(default_factory=dict)
    dropped: int = 0
    planned: int = 0
    beat: int = 0
    is_end: bool = False
    waiting: int | None = None

    @property
    def promise(self) -> int | None:
        """The watermark once the epoch is over."""
        return END_OF_TIME if self.is_end else self.watermark

    def to_json(self) -> dict[str, Json]:
        """As Spark's offset log keeps it."""
        return {
            "table": self.table,
            "at": dict(self.positions),
            "marks": dict(self.marks),
            "wm": self.watermark,
            "moved": dict(self.moved),
            "dropped": self.dropped,
            "planned": self.planned,
            "beat": self.beat,
            "end": self.is_end,
            "waiting": self.waiting,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Json]) -> Offset:
        """Read back from the offset log."""
        return cls(
            table=str(content["table"]),
            positions=content["at"],  # type: ignore[arg-type]
            marks=content["marks"],  # type: ignore[arg-type]
            watermark=content["wm"],  # type: ignore[arg-type]
            moved=content["moved"],  # type: ignore[arg-type]
            dropped=content["dropped"],  # type: ignore[arg-type]
            planned=content["planned"],  # type: ignore[arg-type]
            beat=content["beat"],  # type: ignore[arg-type]
            is_end=bool(content["end"]),
            waiting=content.get("waiting"),  # type: ignore[arg-type]
        )


@dataclass(slots=True)
class Planner:
    """Plans the epochs of one source, one after the other. `others` are the notes of the pipeline's other sources.
    After a silence of `wakes_after` an epoch without rows is planned."""

    table: str
    source: Source
    directory: Path
    others: tuple[Path, ...]
    activity: Activity
    clock: Callable[[], datetime]
    slices: int = 1
    max_rows: int | None = None
    wakes_after: timedelta | None = None
    is_first: bool = True

    def first(self) -> Offset:
        """Before anything was read."""
        return Offset(self.table, {}, {})

    def next(self, start: Offset) -> Offset:
        """Where the epoch after `start` ends; `start` itself when there is nothing to do."""
        begun = self._begin(start)
        at = {**start.positions, **begun}
        taken = {name: notes.collect(self.directory, name, count, at[name]) for name, count in start.moved.items()}
        is_recorded = isinstance(self.source, HasMovingStart)
        readable = {name: place for name, place in at.items() if not (is_recorded and name in begun)}
        target = dict(self.source.advance(readable, self.max_rows))
        now = self.clock()
        moving = [name for name in at if target.get(name, at[name]) != at[name]]
        moved = {name: max(1, self.slices // len(moving)) for name in moving}
        after = {name: target.get(name, position) for name, position in at.items()}
        is_end = self.source.bounded and all(self.source.is_finished(name, where) for name, where in after.items())
        waiting = self.source.waiting(after) if isinstance(self.source, HasBacklog) else None
        # what waits to be read is not silent, however long others are read before it
        heard = {*moved, *(name for name, rows in (waiting or {}).items() if rows)}
        watermark, marks, idle = self._watermark(start, at, taken, heard, now)
        self._tell(watermark, idle=idle, is_end=is_end)
        # Spark forgets at a restart how far each source was, so each must say so once more
        again = (self.is_first and (watermark is not None or start.is_end)) or self._wakes(start, now)
        self.is_first = False
        must_record = is_recorded and (bool(begun) or start.beat == 0)
        if not moved and watermark == start.watermark and is_end == start.is_end and not again and not must_record:
            return start
        return Offset(
            self.table,
            positions=after,
            marks=marks,
            watermark=watermark,
            moved=moved,
            dropped=start.dropped + sum(note.dropped for found in taken.values() for note in found),
            planned=int(now.timestamp() * 1_000_000),
            beat=start.beat + 1,
            is_end=is_end,
            waiting=None if waiting is None else sum(waiting.values()),
        )

    def _begin(self, start: Offset) -> Mapping[str, Position]:
        """Where new partitions begin. Those of a `HasMovingStart` source are read from the next epoch on."""
        new = [name for name in self.source.partitions() if name not in start.positions]
        if isinstance(self.source, HasMovingStart):
            return self.source.begin(new, is_first=start.beat == 0)
        return {name: self.source.start(name) for name in new}

    def _wakes(self, start: Offset, now: datetime) -> bool:
        """Whether it has been silent for so long that a sink wants an epoch all the same."""
        if self.wakes_after is None or start.is_end or not start.beat:
            return False
        return now - datetime.fromtimestamp(start.planned / 1_000_000, UTC) >= self.wakes_after

    def _watermark(
        self,
        start: Offset,
        at: Mapping[str, Position],
        taken: Mapping[str, list[notes.Note]],
        heard: Collection[str],
        now: datetime,
    ) -> tuple[int | None, Mapping[str, int | None], bool]:
        idle = self.activity.saw(list(at), heard, now)
        finished = [name for name, position in at.items() if self.source.is_finished(name, position)]
        candidates = {name: _last(found) for name, found in taken.items()}
        before = Marks({name: start.marks.get(name) for name in at}, start.watermark)
        after = advance(before, candidates, finished=finished, idle=idle)
        if all(name in idle or name in finished for name in at) and not self.source.bounded:
            return follow(after.source, self._others()), after.partitions, True
        return after.source, after.partitions, False

    def _others(self) -> list[int | None]:
        told = [notes.ask(directory) for directory in self.others]
        return [mark.watermark for mark in told if mark is not None and not mark.idle and not mark.ended]

    def _tell(self, watermark: int | None, *, idle: bool, is_end: bool) -> None:
        if self.others:
            notes.tell(self.directory, notes.SourceMark(watermark, idle, is_end))


def _last(found: list[notes.Note]) -> int | None:
    return next((note.candidate for note in reversed(found) if note.candidate is not None), None)
