"""Plan the epochs of one source: where the next epoch ends, and its watermark.

The plan is Spark's offset, which Spark stores in its write-ahead log. So a replay repeats it exactly.

    offset 7        p0 to 9, p1 to 4, marks {p0: 12:00:01, p1: 12:00:05}, watermark 12:00:01
    notes of 7      p0: smallest value of the last rows 12:00:06; p1: no note, as it had no rows in epoch 7
    the source      p0 has rows up to 12, p1 up to 8
    offset 8        p0 to 12, p1 to 8, marks {p0: 12:00:06, p1: 12:00:05}, watermark 12:00:05
    notes of 8      p0: smallest 12:00:07, largest 12:00:11; p1: 12:00:06 and 12:00:09
    the source      nothing more in p0; p1 has rows up to 9
    offset 9        p0 to 12, p1 to 9, marks {p0: 12:00:11, p1: 12:00:06}, watermark 12:00:06

So the watermark of epoch 8 comes from the rows up to epoch 7. The rows of epoch 8 count from epoch 9 on. Whether a
partition is read to its end is decided when the next epoch is planned, by what the source then has. See
docs/decisions/watermarks-travel-in-offsets.md.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from engine.connectors.base import HasBacklog, HasMovingStart, Json, KnowsEnd, Position, Source
from engine.spark.read import history, meeting, notes
from engine.spark.read.history import History
from engine.spark.read.pulses import is_draining
from engine.spark.read.watermarks import END_OF_TIME, Activity, Marks, Shown, Silence, advance, follow, follow_clock


@dataclass(frozen=True, slots=True)
class Offset:
    """End of an epoch of one source. `moved` has the partitions with rows in the epoch, and the number of slices of
    each; `planned` is the time of planning; `sequence` makes the offset differ from the previous one. `watermark`
    applies to the rows of the epoch, and `is_by_clock` while it comes from the clock instead of rows. No epoch follows
    one that `is_end`."""

    table: str
    positions: Mapping[str, Position]
    marks: Mapping[str, int | None]
    watermark: int | None = None
    moved: Mapping[str, int] = field(default_factory=dict)
    dropped: int = 0
    planned: int = 0
    sequence: int = 0
    is_end: bool = False
    waiting: int | None = None
    is_by_clock: bool = False
    start: str | None = None
    """Requested start position, from the run that first read the table."""
    history: History | None = None
    """Range of a backfill."""
    largest: Mapping[str, int] = field(default_factory=dict)
    """Largest watermark value of each partition, if later than its mark. It becomes the mark once the partition is read
    to its end."""
    held: tuple[str | None, int] | None = None
    """The partition that holds back the watermark, and since when in microseconds; None if all partitions are idle."""

    @property
    def promise(self) -> int | None:
        """Return the watermark after the epoch."""
        return END_OF_TIME if self.is_end else self.watermark

    def to_json(self) -> dict[str, Json]:
        """Return the entry of Spark's offset log."""
        return {
            "table": self.table,
            "at": dict(self.positions),
            "marks": dict(self.marks),
            "wm": self.watermark,
            "moved": dict(self.moved),
            "dropped": self.dropped,
            "planned": self.planned,
            "beat": self.sequence,
            "end": self.is_end,
            "waiting": self.waiting,
            # only where it is so: of all others the text stays as earlier versions have written it
            **({"clock": True} if self.is_by_clock else {}),
            **({} if self.start is None else {"start": self.start}),
            **({} if self.history is None else {"history": self.history.to_json()}),
            **({"largest": dict(self.largest)} if self.largest else {}),
            **({} if self.held is None else {"held": list(self.held)}),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Json]) -> Offset:
        """Read the offset from Spark's offset log."""
        return cls(
            table=str(content["table"]),
            positions=content["at"],  # type: ignore[arg-type]
            marks=content["marks"],  # type: ignore[arg-type]
            watermark=content["wm"],  # type: ignore[arg-type]
            moved=content["moved"],  # type: ignore[arg-type]
            dropped=content["dropped"],  # type: ignore[arg-type]
            planned=content["planned"],  # type: ignore[arg-type]
            sequence=content["beat"],  # type: ignore[arg-type]
            is_end=bool(content["end"]),
            waiting=content.get("waiting"),  # type: ignore[arg-type]
            is_by_clock=bool(content.get("clock", False)),
            start=None if content.get("start") is None else str(content["start"]),
            history=History.from_json(past) if isinstance(past := content.get("history"), dict) else None,
            largest=content.get("largest", {}),  # type: ignore[arg-type]
            held=tuple(held) if isinstance(held := content.get("held"), list) else None,  # type: ignore[arg-type]
        )


@dataclass(frozen=True, slots=True)
class PlanSpec:
    """Settings of the planner of one source. Its readers write notes into `notes`, those of the pipeline's other
    sources into `other_notes`. An epoch has at most `max_rows` rows, in about as many slices as there are `tasks`.
    After a silence of `wakes_after` an epoch without rows is planned."""

    table: str
    notes: Path
    other_notes: tuple[Path, ...] = ()
    tasks: int = 1
    max_rows: int | None = None
    wakes_after: timedelta | None = None
    pulse: Path | None = None
    """File that shows that the planner is alive."""
    linger: timedelta = timedelta(0)
    """Pause between two polls of an idle source."""
    start: str | None = None
    """Requested start position."""
    history: History | None = None
    """Range of a backfill."""
    meets: Offset | None = None
    """Position and watermark where the source stops (see `meeting`)."""
    checks_notes: bool = False
    """Whether each slice writes a note, since its reader runs for every slice."""
    may_be_unread: bool = True
    """Whether Spark may have skipped a whole table. Otherwise missing notes mean that the disk is not shared."""


@dataclass(frozen=True, slots=True)
class _Look:
    """State of the source: its `new` partitions, all `begins` and `ends` of the next epoch, and the number of rows
    `waiting` after those, if known. `is_end` if the source has ended."""

    new: Mapping[str, Position]
    begins: Mapping[str, Position]
    ends: Mapping[str, Position]
    waiting: Mapping[str, int] | None
    is_end: bool
    history: History | None = None

    @property
    def reads_history(self) -> bool:
        """Whether the epoch reads the backfill range."""
        return self.history is not None and not self.history.is_over

    @property
    def moving(self) -> list[str]:
        """Return the partitions that have rows in the next epoch."""
        return [name for name, end in self.ends.items() if end != self.begins[name]]

    @property
    def busy(self) -> Collection[str]:
        """Return the partitions that are not silent. A partition with unread rows is not, however long others are read
        before it."""
        return {*self.moving, *(name for name, rows in (self.waiting or {}).items() if rows)}


@dataclass(slots=True)
class Planner:
    """Plans the epochs of one source, one after the other."""

    spec: PlanSpec
    source: Source
    activity: Activity
    clock: Callable[[], datetime]
    silence: Silence = field(default_factory=Silence)
    is_first: bool = True

    def first(self) -> Offset:
        """Return the offset before anything is read."""
        return Offset(self.spec.table, {}, {})

    def next(self, start: Offset) -> Offset:
        """Return the end of the epoch after `start`; `start` itself if there is nothing to do."""
        if self.spec.meets is not None:
            return self._next_to_meet(start, self.spec.meets)
        if self.spec.pulse is not None and is_draining(self.spec.pulse) and not self._must_begin(start):
            return self._next_of_drained(start)
        look = self._look(start)
        notes_of_start = self._notes_of(start, look.begins)
        now = self.clock()
        # a new partition may have rows that are read from the next epoch on
        by_clock = self.silence.find_mark(now, is_busy=bool(look.busy or look.new))
        at_end = self._at_end(look)
        marks, is_idle = self._marks(start, look.begins, notes_of_start, look.busy, now, at_end=at_end)
        if look.reads_history:  # nothing of it is late, so nothing closes before it is read
            marks, is_idle, by_clock = replace(marks, source=start.watermark), False, None
        shown = marks.source
        marks = self._marks_by_clock(marks, by_clock)
        self._tell_others(notes.SourceMark(marks.source, is_idle, look.is_end))
        is_first, self.is_first = self.is_first, False
        if not self._is_due(start, look, marks.source, now, is_first=is_first):
            return start
        return Offset(
            self.spec.table,
            positions=look.ends,
            marks=marks.partitions,
            watermark=marks.source,
            moved={name: max(1, self.spec.tasks // len(look.moving)) for name in look.moving},
            dropped=start.dropped + _count_dropped(notes_of_start),
            planned=int(now.timestamp() * 1_000_000),
            sequence=start.sequence + 1,
            is_end=look.is_end,
            waiting=None if look.waiting is None else sum(look.waiting.values()),
            is_by_clock=marks.source != shown or (start.is_by_clock and marks.source == start.watermark),
            start=start.start if start.sequence else self.spec.start,
            history=look.history,
            largest=marks.largest,
            held=_held(start, marks, now),
        )

    def _next_to_meet(self, start: Offset, other: Offset) -> Offset:
        """Return the epoch after `start` on the way to where another run of the table has ended. It reads the other
        run's rows first, and advances the watermark only then, so that rows that were in time there are not late here.
        """
        lacks = any(name not in start.positions for name in other.positions)
        new = {name: at for name, at in self._new_partitions(start).items() if name in other.positions} if lacks else {}
        moving = meeting.unread(other.positions, self.source, start.positions)
        ends = self.source.advance(moving, self.spec.max_rows) if moving else {}
        ends = {**start.positions, **new, **meeting.within(other.positions, self.source, ends)}
        moved = [name for name, end in ends.items() if end != start.positions.get(name, end)]
        stands_there = not moved and meeting.has_met(other.positions, self.source, start.positions)
        shown = shown_marks(start, self.spec.notes)
        marks = shown.partitions
        if stands_there and start.watermark != other.watermark:
            marks = {**marks, **other.marks}
        fits = stands_there and (start.marks, start.watermark) != (marks, other.watermark)
        dropped = start.dropped + _count_dropped(self._notes_of(start, start.positions))
        is_first, self.is_first = self.is_first, False
        if not (moved or new or fits or (is_first and start.watermark is not None)):
            return start
        return replace(
            start,
            positions=ends,
            marks=marks,
            watermark=other.watermark if stands_there else start.watermark,
            moved={name: max(1, self.spec.tasks // len(moved)) for name in moved},
            dropped=dropped,
            planned=int(self.clock().timestamp() * 1_000_000),
            sequence=start.sequence + 1,
            waiting=None,
            largest=shown.largest,
        )

    def _look(self, start: Offset) -> _Look:
        """Look for input after `start`."""
        new = self._new_partitions(start)
        begins = {**start.positions, **new}
        past = self._history(start, begins)
        ends = self._ends(begins, new, past)
        if past is None or past.goes_on:
            is_end = self.source.bounded and all(self.source.is_finished(name, end) for name, end in ends.items())
        else:
            is_end = history.is_read(past, self.source, ends)
        return _Look(new, begins, ends, self._waiting(ends), is_end, past)

    def _history(self, start: Offset, begins: Mapping[str, Position]) -> History | None:
        """Return the backfill range of the epoch after `start`; the first epoch after the range ends it."""
        if not start.sequence:
            return self.spec.history and history.begun(self.spec.history, self.source, begins)
        past = start.history
        if past is None or past.is_over or not past.goes_on or start.is_end:
            return past
        if not history.is_read(past, self.source, start.positions):
            return past
        return replace(past, ends=None, is_over=True)

    def _waiting(self, ends: Mapping[str, Position]) -> Mapping[str, int] | None:
        """Count the rows behind these positions, if the source can tell."""
        return self.source.waiting(ends) if isinstance(self.source, HasBacklog) else None

    def _is_due(self, start: Offset, look: _Look, watermark: int | None, now: datetime, *, is_first: bool) -> bool:
        """Whether there is a reason for an epoch after `start`. Spark forgets at a restart how far each source was, so
        each source reports that again in its `is_first` answer."""
        differs = bool(look.moving) or watermark != start.watermark or look.is_end != start.is_end
        differs = differs or look.history != start.history
        says_again = is_first and (watermark is not None or start.is_end)
        must_record = self._must_begin(start) or (isinstance(self.source, HasMovingStart) and bool(look.new))
        return differs or says_again or must_record or self._wakes(start, now)

    def _must_begin(self, start: Offset) -> bool:
        """Whether the start position would be lost otherwise: the offset log must record it, even if nothing is
        read."""
        return isinstance(self.source, HasMovingStart) and start.sequence == 0

    def _next_of_drained(self, start: Offset) -> Offset:
        """Return the epoch after `start` if nothing more is read. Its watermark is what it would be otherwise: the rows
        of `start` count, and a partition with unread rows is not idle. The clock does not advance it, and the source is
        not asked whether a partition is read to its end."""
        if not start.sequence or start.is_end or (start.history is not None and not start.history.is_over):
            return start
        now = self.clock()
        notes_of_start = self._notes_of(start, start.positions)
        busy = self._unread(start.positions, now)
        marks, is_idle = self._marks(start, start.positions, notes_of_start, busy, now, at_end=())
        self._tell_others(notes.SourceMark(marks.source, is_idle, ended=False))
        if marks.source == start.watermark:
            return start
        return replace(
            start,
            marks=marks.partitions,
            watermark=marks.source,
            moved={},
            dropped=start.dropped + _count_dropped(notes_of_start),
            planned=int(now.timestamp() * 1_000_000),
            sequence=start.sequence + 1,
            is_by_clock=False,
            largest=marks.largest,
            held=_held(start, marks, now),
        )

    def _unread(self, begins: Mapping[str, Position], now: datetime) -> Collection[str]:
        """Return the partitions with rows that this epoch does not read. The source may be unreachable, so it is asked
        only if some partition has been silent long enough."""
        if not self.activity.find_idle(begins.keys(), (), now):
            return ()
        ends = self.source.advance(begins, self.spec.max_rows)
        return _Look({}, begins, ends, self._waiting(begins), is_end=False).busy

    def _tell_others(self, mark: notes.SourceMark) -> None:
        """Leave a note about this source for the pipeline's other sources, if there are any."""
        if self.spec.other_notes:
            notes.write_mark(self.spec.notes, mark)

    def _notes_of(self, start: Offset, begins: Mapping[str, Position]) -> Mapping[str, Sequence[notes.ReaderNote]]:
        """Return the notes that the readers of the epoch ending at `start` have left, by partition.

        Raise MissingNoteError if one is missing. In the first answer of a run that is no error: the notes were complete
        when the epoch was committed, and a crash of the machine or a fenced-off run may have deleted some since. That
        only makes the watermark later."""
        found = {name: notes.collect(self.spec.notes, name, count, begins[name]) for name, count in start.moved.items()}
        if self.spec.checks_notes and not self.is_first:
            notes.refuse_gaps(self.spec.table, self.spec.notes, found, may_be_unread=self.spec.may_be_unread)
        return found

    def _new_partitions(self, start: Offset) -> Mapping[str, Position]:
        """Return the start positions of new partitions."""
        names = [name for name in self.source.partitions() if name not in start.positions]
        if isinstance(self.source, HasMovingStart):
            return self.source.begin(names, is_first=start.sequence == 0)
        return {name: self.source.start(name) for name in names}

    def _ends(
        self, begins: Mapping[str, Position], new: Collection[str], past: History | None
    ) -> Mapping[str, Position]:
        """Return the end of the epoch in every partition, limited to the end of its backfill range. New partitions of a
        `HasMovingStart` source are read from the next epoch on, since the offset log must record their start first."""
        is_recorded = isinstance(self.source, HasMovingStart)
        readable = {name: begin for name, begin in begins.items() if not (is_recorded and name in new)}
        if past is not None and not past.is_over:
            of_history = history.unread(past, self.source, begins)
            readable = {name: begin for name, begin in readable.items() if name in of_history}
        ends = self.source.advance(readable, self.spec.max_rows) if readable else {}
        if past is not None and not past.is_over:
            ends = history.within(past, self.source, ends)
        return {name: ends.get(name, begin) for name, begin in begins.items()}

    def _wakes(self, start: Offset, now: datetime) -> bool:
        """Whether the source has been silent for so long that a sink needs an epoch nevertheless."""
        if self.spec.wakes_after is None or start.is_end or not start.sequence:
            return False
        return now - datetime.fromtimestamp(start.planned / 1_000_000, UTC) >= self.spec.wakes_after

    def _marks(
        self,
        start: Offset,
        begins: Mapping[str, Position],
        notes_of_start: Mapping[str, Sequence[notes.ReaderNote]],
        busy: Collection[str],
        now: datetime,
        *,
        at_end: Collection[str],
    ) -> tuple[Marks, bool]:
        """Return the watermarks after the epoch that ends at `start`, and whether the source as a whole is idle: then
        it follows the other sources. Partitions `at_end` have no unread row."""
        idle = self.activity.find_idle(list(begins), busy, now)
        finished = [name for name, begin in begins.items() if self.source.is_finished(name, begin)]
        before = Marks({name: start.marks.get(name) for name in begins}, start.watermark, start.largest)
        shown = {name: _shown(partition_notes) for name, partition_notes in notes_of_start.items()}
        marks = advance(before, shown, finished=finished, idle=idle, at_end=at_end)
        if self.source.bounded or not all(name in idle or name in finished for name in begins):
            return marks, False
        return replace(marks, source=follow(marks.source, self._marks_of_others())), True

    def _at_end(self, look: _Look) -> Collection[str]:
        """Return the partitions of which all rows were read before the next epoch, according to the last poll of the
        source."""
        if not isinstance(self.source, KnowsEnd):
            return ()
        still = look.begins.keys() - look.moving
        return {name for name in still if self.source.is_at_end(name, look.begins[name])}

    def _marks_by_clock(self, marks: Marks, by_clock: int | None) -> Marks:
        limit = self.silence.limit
        if self.source.bounded or limit is None:
            return marks
        return replace(marks, source=follow_clock(marks.source, by_clock, limit))

    def _marks_of_others(self) -> list[int | None]:
        """Return the watermarks of the pipeline's other sources that are active."""
        marks = [notes.read_mark(directory) for directory in self.spec.other_notes]
        return [mark.watermark for mark in marks if mark is not None and not mark.idle and not mark.ended]


def shown_marks(at: Offset, notes_of_table: Path) -> Marks:
    """Return the watermarks of the partitions after the rows of the epoch that ends there, without asking the source
    whether they are read to their end."""
    found = {name: notes.collect(notes_of_table, name, count, at.positions[name]) for name, count in at.moved.items()}
    shown = {name: _shown(partition_notes) for name, partition_notes in found.items()}
    return advance(Marks(at.marks, at.watermark, at.largest), shown, finished=(), idle=())


def _held(start: Offset, marks: Marks, now: datetime) -> tuple[str | None, int]:
    """Return the partition that determines the watermark, with the time since when it has done so at its current
    value."""
    holder = marks.holder
    if start.held is not None and start.held[0] == holder:
        mark = start.watermark if holder is None else start.marks.get(holder)
        if mark == (marks.source if holder is None else marks.partitions[holder]):
            return start.held
    return holder, int(now.timestamp() * 1_000_000)


def _count_dropped(notes_of_start: Mapping[str, Sequence[notes.ReaderNote]]) -> int:
    return sum(note.dropped for partition_notes in notes_of_start.values() for note in partition_notes)


def _shown(partition_notes: Sequence[notes.ReaderNote]) -> Shown:
    """Return the smallest value in the last slice that had rows, and the largest in all. Slices are in order, so the
    rows of the last slice are the last of the range."""
    least = next((note.candidate for note in reversed(partition_notes) if note.candidate is not None), None)
    return Shown(least, max((note.largest for note in partition_notes if note.largest is not None), default=None))
