"""One epoch: a gate admits it, and the rows that the stream part emitted pass through the epoch part into the
sinks.

All sinks are written in one pass over the rows. Tasks write segments and return messages; then the driver lets each
sink commit its epoch. Nothing is visible before that.

    emitted     3 rows of branch 0, for the sinks "clicks" and "alerts"
    tasks       0: 2 rows for clicks, 1 for alerts      1: 1 row for clicks
    messages    (clicks, 2, segment 0), (alerts, 1, segment 0), (clicks, 1, segment 1)
    commit      clicks takes segments 0 and 1, then alerts takes its segment 0

Spark's thread     begins epoch 7
thread of the run  is_under_way: epoch 7 has begun and is not reported yet
thread of the run  reports epoch 7
thread of the run  refuses further epochs: none is under way, so none can begin
Spark's thread     begins epoch 8: StopRequested, before its first effect
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Collection, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from pyspark.sql import DataFrame, Row

from engine.checkpoints.claim import Claim
from engine.connectors.base import Epoch, HoldsRows, Table
from engine.plan.nodes import Branch, is_updating
from engine.plan.placement.split import Parts
from engine.plan.placement.whole import leading_of_branch
from engine.plan.tree import EVENT_TIME, walk
from engine.schema import Field, Schema
from engine.spark.lower import epoch_lowering
from engine.spark.lower.over import lower_leading
from engine.spark.lower.rows import quoted
from engine.spark.map_in_arrow import map_in_arrow
from engine.spark.read.offset_log import hash_offsets, read_settled
from engine.spark.read.scan_spec import CHANGES
from engine.spark.run.map_only import WholeTasks
from engine.spark.run.single_task import OneTaskPlace, put_aside_in
from engine.spark.run.stop_control import Control, StopRequested
from engine.spark.tagged_frames import tag, untag, with_numbered_columns
from engine.spark.write.targets import Target
from engine.spark.write.write_segments import MESSAGE, segment_writer
from engine.types import TIMESTAMP

_TIME = (Field(EVENT_TIME, TIMESTAMP),)
_EMPTY_LEAVES = ("LocalRelation", "EmptyRelation")
"""Plan nodes with which Spark replaces rows that it need not read."""


@dataclass(frozen=True, slots=True)
class SinkMessage:
    """Message of a task about its rows for one sink, which is known by its number. The sink defines the content."""

    sink: int
    rows: int
    content: bytes
    minutes: Sequence[int] = ()
    """Event-time minutes of late rows."""


@dataclass(frozen=True, slots=True)
class TakenEpoch:
    """Result of writing an epoch: the rows per counted table; for each table, since when some rows are not visible to
    its readers; the duration of delivery, without computing the rows; and the minutes of late rows, per table of late
    rows."""

    rows_of: Mapping[str, int]
    held_from: Mapping[str, Sequence[int | None]]
    delivery: timedelta = timedelta(0)
    late_minutes: Mapping[str, Collection[int]] = field(default_factory=dict)
    delivery_of: Mapping[str, timedelta] = field(default_factory=dict)
    """The part of `delivery` that each table took."""

    @property
    def rows(self) -> int:
        """Return the number of rows that all sinks have written."""
        return sum(self.rows_of.values())


@dataclass(slots=True)
class EpochPart:
    """The epoch part of a program. `lookups` are its lookup tables, and `dead_letter_targets` take records that are no
    rows."""

    parts: Parts
    targets: Sequence[Target]
    lookups: Mapping[str, Table]
    dead_letter_targets: Sequence[Target] = ()
    one_task: OneTaskPlace | None = None
    """The single-task execution, or None if Spark executes the epoch part."""
    _known_read: set[tuple[int, ...]] = field(default_factory=set, init=False, compare=False, repr=False)
    """Sinks whose rows Spark is known to read from the emitted rows."""
    _left_to_spark: int = field(default=0, init=False, compare=False, repr=False)
    """Number of further epochs that Spark executes, because a recent epoch had too many rows for a single task."""

    @property
    def branch_schemas(self) -> Sequence[Schema]:
        """Return the schema with which each branch leaves the stream part."""
        timed = self._timed_branches
        return [
            Schema((*branch.schema, *(CHANGES if is_updating(branch) else ()), *(_TIME if index in timed else ())))
            for index, branch in enumerate(self.parts.branches)
        ]

    @property
    def _timed_branches(self) -> Collection[int]:
        """Return the branches that carry the event time: all if the epoch part or a writer reads it, else those of late
        rows."""
        if self.carries_time:
            return range(len(self.parts.branches))
        late = (
            write.input for target, write in zip(self.targets, self.parts.writes, strict=False) if target.has_event_time
        )
        return {node.index for top in late for node in walk(top) if isinstance(node, Branch)}

    @property
    def carries_time(self) -> bool:
        """Whether a sink or the epoch part itself reads the event time, so that all branches must carry it."""
        return self.parts.reads_time or any(target.needs_event_time for target in self.targets)

    @property
    def _all_targets(self) -> Sequence[Target]:
        return *self.targets, *self.dead_letter_targets

    def refused(self) -> Mapping[str, int]:
        """Return how many rows each sink has refused so far, for the sinks that may refuse rows."""
        refused = Counter[str]()
        for target in self._all_targets:
            if (count := target.refused) is not None:
                refused[target.table.name] += count
        return refused

    def refused_in(self, epoch: int) -> int:
        """Return how many rows the sinks left out in the newest epoch."""
        directories = {target.place.directory: target for target in self._all_targets}
        return sum(target.refused_in(epoch) for target in directories.values())

    @property
    def wakes_after(self) -> timedelta | None:
        """Return how long the input may be silent before a sink needs an epoch."""
        return min(filter(None, (target.wakes_after for target in self._all_targets)), default=None)

    @property
    def is_plain(self) -> bool:
        """Whether every branch is exactly the rows of one sink, so that they only have to be written."""
        return self._only_writes and not self.carries_time and not any(target.drops_all for target in self.targets)

    @property
    def _only_writes(self) -> bool:
        """Whether the epoch part computes nothing: every branch is the input of one sink."""
        branches = (Branch(index, branch.schema) for index, branch in enumerate(self.parts.branches))
        return tuple(write.input for write in self.parts.writes) == tuple(branches)

    def run(self, frame: DataFrame, epoch: Epoch, whole: WholeTasks | None = None) -> TakenEpoch:
        """Write an epoch into all sinks; with `whole`, tasks compute the rows themselves from the slices that they
        get."""
        reads = sum(isinstance(node, Branch) for write in self.parts.writes for node in walk(write))
        goes_nowhere = self._only_writes and all(target.drops_all for target in self.targets)
        self._left_to_spark = max(self._left_to_spark - 1, 0)
        place = None if self._left_to_spark else self.one_task
        if whole is not None or place is not None or reads <= 1 or self.is_plain or goes_nowhere:
            return self._write(frame, epoch, whole, place)
        # Spark runs what is read twice twice, and with it what keeps state
        frame = frame.persist()
        try:
            return self._write(frame, epoch, None, None)
        finally:
            frame.unpersist()

    def _write(
        self, frame: DataFrame, epoch: Epoch, whole: WholeTasks | None, place: OneTaskPlace | None
    ) -> TakenEpoch:
        written = [index for index, target in enumerate(self.targets) if not target.drops_all]
        # all tasks have ended and their segments are durable when this returns; until then no sink was touched
        if whole is not None:
            writer = whole.writer([self.targets[index] for index in written], epoch)
            messages = _messages(map_in_arrow(frame, writer, MESSAGE), written)
        elif place is not None:
            messages = self._in_one_task(frame, epoch, written, place)
        else:
            messages = self._write_segments(frame, epoch, written)
        begin = time.monotonic()
        delivery_of: dict[str, timedelta] = {}
        held_from = commit_sinks(self.targets, epoch, messages, delivery_of)
        rows_of = Counter({self.targets[index].table.name: 0 for index in written})
        for message in messages:
            rows_of[self.targets[message.sink].table.name] += message.rows
        late_minutes: dict[str, set[int]] = {}
        for message in messages:
            if message.minutes:
                late_minutes.setdefault(self.targets[message.sink].table.name, set()).update(message.minutes)
        delivery = timedelta(seconds=time.monotonic() - begin)
        return TakenEpoch(rows_of, held_from, delivery, late_minutes, delivery_of)

    def _in_one_task(
        self, released: DataFrame, epoch: Epoch, written: Sequence[int], place: OneTaskPlace
    ) -> list[SinkMessage]:
        """Write in one task; if the rows are too many for it, have Spark write them from a file."""
        from engine.spark.run.single_task import OneTask, RowsPutAside  # noqa: PLC0415 - it needs Arrow

        leading = leading_of_branch(self.parts)
        rows = with_numbered_columns(released if leading is None else lower_leading(leading, released))
        gathered = rows.coalesce(1) if place.tasks == 1 else rows.repartition(1)
        targets = [self.targets[index] for index in written]
        task = OneTask(self.parts.writes, self.branch_schemas, targets, written, epoch, place)
        answers = map_in_arrow(gathered, task, MESSAGE).collect()
        file = put_aside_in(answers)
        if file is None:
            return [_message(answer, written) for answer in answers]
        self._left_to_spark = place.rests_for
        try:
            again = map_in_arrow(rows.sparkSession.range(0, 1, 1, 1), RowsPutAside(file), rows.schema)
            return self._write_segments(again.toDF(*released.columns), epoch, written)
        finally:
            file.unlink()

    def _write_segments(self, frame: DataFrame, epoch: Epoch, written: Sequence[int]) -> list[SinkMessage]:
        """Write the rows of the sinks with these numbers in tasks."""
        messages: list[SinkMessage] = []
        is_computed = True
        if written:
            for_sinks = self._for_sinks(frame, written)
            writer = segment_writer([self.targets[index] for index in written], epoch)
            messages = _messages(map_in_arrow(with_numbered_columns(for_sinks), writer, MESSAGE), written)
            is_computed = self._is_read(for_sinks, written)
        # dropped rows must be computed nevertheless: their query may have state, or fail
        if dropped := self._dropped(written):
            rows = frame if self._only_writes else self._for_sinks(frame, dropped)
            is_read = self._is_read(rows, dropped)
            is_computed &= is_read
            if is_read:
                _compute(rows)
        if not is_computed:
            _compute(frame)
        return messages

    def _dropped(self, written: Sequence[int]) -> Sequence[int]:
        """Return the sinks that drop their rows, except for those whose rows another sink has computed anyway."""
        read = {node.index for index in written for node in walk(self.parts.writes[index]) if isinstance(node, Branch)}
        inputs = ((index, write.input) for index, write in enumerate(self.parts.writes) if index not in written)
        return [index for index, rows in inputs if not (isinstance(rows, Branch) and rows.index in read)]

    def _is_read(self, rows: DataFrame, sinks: Sequence[int]) -> bool:
        """Whether Spark reads the emitted rows for some sinks: it does not if it can tell that the result is empty. It
        decides the same in every epoch, so this is checked until it has read once."""
        if tuple(sinks) not in self._known_read:
            leaves = rows._jdf.queryExecution().optimizedPlan().collectLeaves()  # noqa: SLF001 - nothing else says it
            names = (leaves.apply(index).nodeName() for index in range(leaves.size()))
            if all(name in _EMPTY_LEAVES for name in names):
                return False
            self._known_read.add(tuple(sinks))
        return True

    def _for_sinks(self, frame: DataFrame, written: Sequence[int]) -> DataFrame:
        """Return the rows for all sinks in one frame: unchanged for one sink, else each in a struct with the number of
        its sink."""
        if self.is_plain:
            return frame
        lowering = epoch_lowering(untag(frame, len(self.parts.branches)), self.lookups)
        schemas = [self.targets[index].schema for index in written]
        frames = [
            lowering.lower(self.parts.writes[index]).select(*map(quoted, schema.names))
            for index, schema in zip(written, schemas, strict=True)
        ]
        return frames[0] if len(frames) == 1 else tag(frames, schemas)


def _compute(frame: DataFrame) -> None:
    frame.write.format("noop").mode("append").save()


def _messages(frame: DataFrame, written: Sequence[int]) -> list[SinkMessage]:
    return [_message(row, written) for row in frame.collect()]


def _message(row: Row, written: Sequence[int]) -> SinkMessage:
    return SinkMessage(written[row.sink], row.rows, bytes(row.message), row.minutes or ())


def commit_sinks(
    targets: Sequence[Target],
    epoch: Epoch,
    messages: Sequence[SinkMessage],
    delivery_of: MutableMapping[str, timedelta] | None = None,
) -> Mapping[str, Sequence[int | None]]:
    """Let each sink take the epoch, one after the other, including those without rows, since their ledgers must record
    it. After a crash between two of them the epoch runs again, and sinks that have it skip it. Return, for each table,
    the event time of the first row that its readers cannot see yet. `delivery_of` is filled with the
    time that each table took."""
    held_from: dict[str, Sequence[int | None]] = {}
    for index, target in enumerate(targets):
        begin, name = time.monotonic(), target.table.name
        sink = target.open()
        sink.commit(target.epoch_of_sink(epoch), [message.content for message in messages if message.sink == index])
        if isinstance(sink, HoldsRows):
            held_from[name] = (*held_from.get(name, ()), *sink.holds_from(epoch))
        if delivery_of is not None:
            delivery_of[name] = delivery_of.get(name, timedelta(0)) + timedelta(seconds=time.monotonic() - begin)
    return held_from


def planned_epoch(number: int, claim: Claim, checkpoint: Path, *, closes_windows: bool) -> Epoch:
    """Return the epoch of a number. It is read from files only, so a replay in another process gets the same."""
    settled = read_settled(checkpoint, number, closes_windows=closes_windows)
    has_before = (checkpoint / "offsets" / str(number - 1)).exists()
    before = read_settled(checkpoint, number - 1, closes_windows=closes_windows) if has_before else None
    return Epoch(
        number=number,
        lineage=claim.lineage,
        generation=claim.generation,
        offsets=hash_offsets(checkpoint, number),
        parents=claim.parents,
        watermark=settled.watermark,
        is_last=settled.is_last,
        watermark_before=before.watermark if before is not None else None,
    )


@dataclass(slots=True)
class EpochGate:
    """The newest epoch that has begun, and the newest that was reported; -1 before the first epoch of this run."""

    control: Control
    newest: int = -1
    newest_reported: int = -1
    _is_refusing: bool = False
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, number: int) -> None:
        """Begin an epoch. Raise StopRequested if none may begin: so far it is only planned, and the next query runs
        exactly this epoch."""
        with self._guard:
            if self.control.refuses_epochs or self._is_refusing:
                raise StopRequested
            self.newest = number

    @property
    def is_under_way(self) -> bool:
        """Whether an epoch has begun that is not reported."""
        return self.newest > self.newest_reported

    def refuse(self) -> bool:
        """Let no further epoch begin, unless one is under way; return whether none is under way."""
        with self._guard:
            self._is_refusing = not self.is_under_way
            return self._is_refusing

    def admit(self) -> None:
        """Let the epochs of another query begin."""
        self._is_refusing = False
