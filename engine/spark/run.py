"""A run: one program, on one state directory, from its start to its end, stop or failure."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Literal

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from engine.checkpoints.claim import Claim, claim
from engine.checkpoints.layout import StatePaths
from engine.compile import Program, compile_script
from engine.connectors import connector_of
from engine.connectors.base import Epoch, SinkContext, Table
from engine.connectors.secret_values import fill_in
from engine.delivery.faults import Point, reach
from engine.epoch_report import EpochReport
from engine.plan.nodes import Scan, is_updating
from engine.plan.tree import walk
from engine.spark import notes
from engine.spark.dead_letter_tables import DeadLetterTable
from engine.spark.epoch import EpochPart, Target, sink_directory
from engine.spark.failures import explain_failure
from engine.spark.offsets import hash_offsets, read_ends, read_settled
from engine.spark.planner import Offset
from engine.spark.progress import read_progress
from engine.spark.session import close_session, open_session
from engine.spark.source import format_name
from engine.spark.stream import Limits, stream_part
from engine.udf.declared import UdfFile
from engine.udf.requirements import check_requirements

Outcome = Literal["finished", "stopped"]
StopMode = Literal["checkpoint", "immediate"]
POLL_SECONDS = 0.03
_WIDTH = "spark.sql.shuffle.partitions"


@dataclass(frozen=True, slots=True)
class RunSpec:
    """What is to be run, and where. `max_epoch_rows` limits each source table's rows in an epoch; `epoch_interval` is
    the least time from the start of one epoch to that of the next."""

    name: str
    sql: str
    state_dir: Path
    parallelism: int = 1
    generation: int | None = None
    force: bool = False
    max_epoch_rows: int | None = None
    epoch_interval: timedelta = timedelta(0)
    master: str | None = None
    quick: bool = False
    memory: str = "2g"
    default_sink: str = "stdout"
    conf: Mapping[str, str] = field(default_factory=dict)
    udfs: tuple[UdfFile, ...] = ()
    connections: str = field(default="", repr=False)


class StopRequested(Exception):  # noqa: N818 - it is no error
    """Raised before the first effect of an epoch, when the run is to stop at the end of the one before."""


class Control:
    """The one way to stop a run; may be used from any thread."""

    def __init__(self) -> None:
        self._mode: StopMode | None = None
        self._changed = threading.Event()

    def stop(self, mode: StopMode) -> None:
        """Stop after the epoch that is under way, or immediately; the next start goes on from there either way."""
        if self._mode != "immediate":
            self._mode = mode
        self._changed.set()

    @property
    def mode(self) -> StopMode | None:
        """How the run is to stop, if it is."""
        return self._mode

    def wait(self, seconds: float) -> None:
        """Wait, but not longer than until a stop is asked for."""
        if self._mode is None:
            self._changed.wait(seconds)
        else:
            threading.Event().wait(seconds)


def run(
    spec: RunSpec,
    control: Control,
    on_epoch: Callable[[EpochReport], None],
    on_started: Callable[[], None] = lambda: None,
) -> Outcome:
    """Run until the input ends or a stop is asked for, in a session of its own. Raises EngineError, with a code, when
    it fails."""
    program = _compile(spec)
    held = _claim(spec, program)
    with ExitStack() as opened:
        opened.callback(held.release)
        spark = open_session(
            app_name=spec.name,
            log_dir=StatePaths(spec.state_dir.absolute()).logs,
            master=spec.master or f"local[{spec.parallelism}]",
            parallelism=held.parallelism,
            memory=spec.memory,
            quick=spec.quick,
            extra_conf=spec.conf,
        )
        opened.callback(close_session, spark)
        return _run(spark, spec, program, held, control, on_epoch, on_started)


def run_in(
    spark: SparkSession, spec: RunSpec, control: Control, on_epoch: Callable[[EpochReport], None] = lambda _: None
) -> Outcome:
    """The same in a session that is there already, which stays open."""
    program = _compile(spec)
    width = spark.conf.get(_WIDTH)
    try:
        return _run(spark, spec, program, _claim(spec, program), control, on_epoch, lambda: None)
    finally:
        spark.conf.set(_WIDTH, str(width))


def _compile(spec: RunSpec) -> Program:
    check_requirements(spec.udfs)
    program = compile_script(spec.sql, default_sink=spec.default_sink, udfs=spec.udfs, connections=spec.connections)
    return replace(program, tables={name: _filled_in(table) for name, table in program.tables.items()})


def _filled_in(table: Table) -> Table:
    form = table.format and fill_in(table.format, os.environ)
    return replace(table, options=fill_in(table.options, os.environ), format=form)


def _claim(spec: RunSpec, program: Program) -> Claim:
    return claim(
        StatePaths(spec.state_dir.absolute()),
        name=spec.name,
        sql=spec.sql,
        fingerprint=program.fingerprint,
        parallelism=spec.parallelism,
        generation=spec.generation,
        force=spec.force,
    )


def _run(
    spark: SparkSession,
    spec: RunSpec,
    program: Program,
    held: Claim,
    control: Control,
    on_epoch: Callable[[EpochReport], None],
    on_started: Callable[[], None],
) -> Outcome:
    spark.conf.set(_WIDTH, str(held.parallelism))
    paths = StatePaths(spec.state_dir.absolute())
    try:
        return _Running(spec, control, program, paths, held, spark, on_epoch).until_end(on_started)
    finally:
        held.release()  # the callbacks that Spark keeps would hold it for as long as the session lives


@dataclass(frozen=True, slots=True)
class _Written:
    """What the sinks have done with an epoch: the rows that were for them, and those they have left out so far."""

    rows: int
    refused: int


@dataclass(slots=True)
class _Running:
    """A run with its session open."""

    spec: RunSpec
    control: Control
    program: Program
    paths: StatePaths
    held: Claim
    spark: SparkSession
    on_epoch: Callable[[EpochReport], None]
    written: dict[int, _Written] = field(default_factory=dict)
    begun: int = -1
    reported: int = -1
    is_ended: bool = False

    def until_end(self, on_started: Callable[[], None]) -> Outcome:
        targets = [
            Target(self.program.tables[write.table], self._place(write.table), is_updating(write))
            for write in self.program.writes
        ]
        boxes = [
            DeadLetterTable(Target(self.program.tables[name], self._place(name)), senders, targets)
            for name, senders in self.program.dead_letter_tables.items()
        ]
        epoch_part = EpochPart(self.program.parts, targets, self.program.tables, [box.target for box in boxes])
        limits = Limits(self.spec.parallelism, self.spec.max_epoch_rows)
        part = stream_part(self.spark, self.program, epoch_part, self.paths.watermarks, limits, self.spec.name)
        query = (
            part.frame.writeStream.foreachBatch(
                lambda rows, number: self._epoch(epoch_part, boxes, part.released, rows, number)
            )
            .option("checkpointLocation", str(self.paths.checkpoint))
            .outputMode("append")
            .trigger(processingTime=f"{self.spec.epoch_interval // timedelta(milliseconds=1)} milliseconds")
            .queryName(self.spec.name)
            .start()
        )
        on_started()
        try:
            return self._watch(query)
        finally:
            query.stop()

    def _place(self, table: str) -> SinkContext:
        directory = sink_directory(self.paths.root, table)
        directory.mkdir(parents=True, exist_ok=True)
        return SinkContext(directory, self.spec.name)

    def _epoch(
        self,
        epoch_part: EpochPart,
        boxes: Sequence[DeadLetterTable],
        released: Callable[[DataFrame], DataFrame],
        rows: DataFrame,
        number: int,
    ) -> None:
        if self.control.mode is not None:
            raise StopRequested
        self.begun = number
        checkpoint, closes_windows = self.paths.checkpoint, self.program.parts.closes_windows
        settled = read_settled(checkpoint, number, closes_windows=closes_windows)
        epoch = Epoch(
            number=number,
            lineage=self.held.lineage,
            generation=self.held.generation,
            offsets=hash_offsets(checkpoint, number),
            parents=self.held.parents,
            watermark=settled.watermark,
            is_last=settled.is_last,
        )
        reach(Point.AFTER_OFFSETS, number)
        rows_out = epoch_part.run(released(rows), epoch)
        ends = read_ends(checkpoint, number) if boxes else []
        for box in boxes:
            box.take(epoch, ends, self.paths.watermarks)
        self.written[number] = _Written(rows_out, epoch_part.refused)
        reach(Point.AFTER_SINKS, number)

    def _watch(self, query: StreamingQuery) -> Outcome:
        while True:
            self.control.wait(POLL_SECONDS)
            is_active = query.isActive
            self._report(query)
            if self.is_ended:
                return "finished"
            if not is_active:
                return self._why_inactive(query)
            is_in_epoch = self.begun > self.reported
            if self.control.mode == "immediate" or (self.control.mode == "checkpoint" and not is_in_epoch):
                return "stopped"

    def _why_inactive(self, query: StreamingQuery) -> Outcome:
        try:
            query.awaitTermination(1)
        except PySparkException as error:
            if self.control.mode is not None and StopRequested.__name__ in str(error):
                return "stopped"
            raise explain_failure(error, self.paths) from error
        return "stopped"

    def _dropped(self, offset: Offset) -> int:
        """The records of a table that were dropped up to an offset, with those of the epoch that ends there."""
        return offset.dropped + sum(note.dropped for note in self._notes(offset))

    def _counted(self, offset: Offset) -> int | None:
        """The rows of a table in the epoch that ends there, if those who read them have counted them."""
        found = [note.rows for note in self._notes(offset) if note.rows is not None]
        table = self.program.tables[offset.table]
        return sum(found) if connector_of(table).spark_read(table) else None

    def _notes(self, offset: Offset) -> list[notes.Note]:
        directory = self.paths.watermarks / format_name(offset.table)
        found = (notes.collect(directory, name, count, offset.positions[name]) for name, count in offset.moved.items())
        return [note for some in found for note in some]

    def _report(self, query: StreamingQuery) -> None:
        if not self.written:
            return  # nothing was written that is not reported: Spark need not turn its reports into text
        scans: dict[str, int] = {}
        for branch in self.program.parts.branches:
            for node in walk(branch):
                if isinstance(node, Scan):
                    scans[node.table] = scans.get(node.table, 0) + 1
        for progress in query.recentProgress:
            content = json.loads(progress.json)
            number = int(content["batchId"])
            if number <= self.reported or number not in self.written:
                continue
            written = self.written.pop(number)
            report = read_progress(
                content,
                scans,
                written.rows,
                closes_windows=self.program.parts.closes_windows,
                dropped=self._dropped,
                refused=written.refused,
                counted=self._counted,
            )
            self.reported = number
            reach(Point.AFTER_COMMIT, number)
            self.on_epoch(report)
            self.is_ended = self.is_ended or report.is_last
