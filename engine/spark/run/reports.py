"""Build the report of a committed epoch from Spark's progress, the counts of readers and sinks, and the requests to
the bucket of its state.

Spark keeps its last twenty reports. Each call crosses into the JVM, and a report is serialised there and parsed here,
so reports that are already known are not requested:

    known up to epoch 6; Spark has 4, 5, 6, 7, 8       requests the numbers of 8, 7 and 6, and the texts of 7 and 8
    known up to epoch 8; Spark has 5, 6, 7, 8          requests the number of 8

changelog               the PUTs of epochs: one for each partition of state
put, get, head, list, delete    of a start, then of maintenance alone
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Protocol

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from engine.checkpoints.late_batches import Stretch, stretches
from engine.compile import Program
from engine.connectors import source_kind_of
from engine.plan.times import RowPath, row_paths
from engine.spark.read import notes
from engine.spark.read.planner import Offset
from engine.spark.read.scan_spec import format_name
from engine.spark.run.operator_times import NO_PLANS, PlanReader
from engine.spark.run.progress import ReadSlices, WrittenEpoch, read_progress
from engine.values.epoch_report import EpochReport


@dataclass(frozen=True, slots=True)
class Reporter:
    """Builds the epoch reports of a run. Readers write notes into `notes_directory`."""

    program: Program
    notes_directory: Path
    lineage: str
    counts_state: bool = False
    is_one_jvm: bool = True
    """Whether all tasks run in the JVM of the driver, and so use its disk."""
    plans: PlanReader = NO_PLANS
    parallelism: int = 1

    def read(
        self, progress: Mapping[str, object], written: WrittenEpoch, committed_before: datetime | None = None
    ) -> EpochReport:
        """Return the report of an epoch from Spark's progress, as a dict read from its JSON; `committed_before` is when
        this run committed the previous epoch, None for its first."""
        report = read_progress(
            progress,
            written,
            keeps_dead_letters=self._keeps_dead_letters,
            paths=self._paths(),
            closes_windows=self.program.parts.closes_windows,
            counts_state=self.counts_state,
            committed_before=committed_before,
            tables=self.program.tables,
            work=self.plans.read(written.plan),
            parallelism=self.parallelism,
        )
        return replace(report, lineage=self.lineage)

    def _paths(self) -> Mapping[str, frozenset[RowPath]]:
        """Return the paths by which rows reach each sink; a sink of several statements has the paths of all."""
        paths: dict[str, frozenset[RowPath]] = {}
        for write in self.program.writes:
            paths[write.table] = paths.get(write.table, frozenset()) | row_paths(write)
        return paths

    def late(self, minutes: Mapping[str, Collection[int]]) -> Mapping[str, Sequence[Stretch]]:
        """Return the times of late rows, for the tables that declare a late sink and for the sinks of the same
        source."""
        paths, late = self._paths(), dict[str, set[int]]()
        for taker, those in minutes.items():
            sources = {path.table for path in paths[taker]}
            for sink, ways in paths.items():
                if not sources.isdisjoint(way.table for way in ways):
                    late.setdefault(sink, set()).update(those)
        return {sink: stretches(those) for sink, those in late.items()}

    def count(self, ends: Iterable[Offset], fresh_ends: Collection[Offset]) -> Mapping[str, ReadSlices]:
        """Count the rows of the slices with these ends. Only fresh ends count: the others belong to earlier epochs.
        Raise MissingNoteError if a slice of a fresh end has left no note."""
        return {end.table: self._count(end, is_fresh=end in fresh_ends) for end in ends}

    def _keeps_dead_letters(self, table: str) -> bool:
        """Whether dropped records of a table are saved for a person to inspect."""
        return self.program.tables[table].bad_data == "dead_letter"

    def _count(self, end: Offset, *, is_fresh: bool) -> ReadSlices:
        directory = self.notes_directory / format_name(end.table)
        found = {
            partition: notes.collect(directory, partition, count, end.positions[partition])
            for partition, count in end.moved.items()
        }
        # where Spark is the reader, no task of ours runs for a slice without rows
        table = self.program.tables[end.table]
        if is_fresh and source_kind_of(table).spark_read(table) is None:
            notes.refuse_gaps(end.table, directory, found, may_be_unread=self.is_one_jvm)
        reader_notes = [note for notes_of_partition in found.values() for note in notes_of_partition]
        rows = sum(note.rows or 0 for note in reader_notes)
        dropped = sum(note.dropped for note in reader_notes)
        return ReadSlices(rows, dropped, dropped) if is_fresh else ReadSlices(0, dropped)


class JavaProgress(Protocol):
    """Spark's report of an epoch, as a Java object."""

    def batchId(self) -> int:  # noqa: N802 - Spark's name
        """Return the number of the epoch."""

    def json(self) -> str:
        """Return the report as JSON."""


def read_fresh(query: StreamingQuery, newest: int) -> Sequence[Mapping[str, object]]:
    """Return the reports of the epochs after `newest`, in order."""
    java = query._jsq  # noqa: SLF001 - pyspark's own way reads all twenty, twice
    last: JavaProgress | None = java.lastProgress()
    if last is None or last.batchId() <= newest:
        return []
    return read_after(java.recentProgress(), newest)


def read_after(reports: Sequence[JavaProgress], newest: int) -> Sequence[Mapping[str, object]]:
    """Parse the reports of epochs after `newest`; the reports are in order."""
    fresh: list[Mapping[str, object]] = []
    for index in range(len(reports) - 1, -1, -1):
        report = reports[index]
        if report.batchId() <= newest:
            break
        fresh.append(json.loads(report.json()))
    return fresh[::-1]


@dataclass(slots=True)
class BucketRequests:
    """Counts what was sent since the last call. `read` returns all that was ever sent, as JSON."""

    read: Callable[[], str]
    _before: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self._before = self._counts()

    def since_last(self) -> Mapping[str, int]:
        """Return the requests since the last call, of the kinds that were sent."""
        counts = self._counts()
        further = {kind: count - self._before.get(kind, 0) for kind, count in counts.items()}
        self._before = counts
        return {kind: count for kind, count in sorted(further.items()) if count > 0}

    def _counts(self) -> Mapping[str, int]:
        try:
            return {kind: int(count) for kind, count in json.loads(self.read()).items()}
        except Py4JError:
            return {}  # a JVM that has ended is reported where it is needed


def requests_of(spark: SparkSession) -> BucketRequests:
    """Count the requests of a session and its executors. The JVM must not have the states of other pipelines."""
    jvm = spark.sparkContext._jvm  # noqa: SLF001 - pyspark has no other way to Java
    assert jvm is not None
    return BucketRequests(lambda: str(jvm.arroyo.BucketRequests.counts()))
