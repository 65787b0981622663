"""A run: one program on one state directory, from start to end, stop or failure.

Spark plans and runs the epochs in threads of its own, and calls back with the rows of each. The thread of the run only
observes. The steps of an epoch:

    Spark        writes its offsets ahead                                        offsets/7
    callback     if a stop is requested: StopRequested, before the first effect; else
                 the sinks write the epoch, then the tables of dead letters      ledgers contain 7
    Spark        commits                                                         commits/7
    thread       reads Spark's progress, and reports                             on_epoch(report of 7)

A crash between two steps runs epoch 7 again with the same offsets, and a sink that has it skips it. See
docs/decisions/watermarks-travel-in-offsets.md and docs/decisions/states-are-swapped-whole.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal, TypeAlias

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from engine.checkpoints import late_batches, spark_log
from engine.checkpoints.forms import is_begun, read_forms, read_panes, write_panes
from engine.checkpoints.late_batches import LateBatch, read_withheld
from engine.checkpoints.state_moves import (
    bring_state_home,
    delete_prefixes,
)
from engine.checkpoints.state_owners import PrefixOwner, own_prefix
from engine.compile import Program
from engine.connectors.base import SinkContext
from engine.delivery.faults import Point, reach
from engine.delivery.mirrored import append_changes, refuse_lost
from engine.delivery.ownership import Owner
from engine.errors import message_of
from engine.plan.state.forms import with_forms
from engine.plan.state.panes import fit_for_panes, with_panes
from engine.plan.state.withheld import withhold
from engine.plan.times import window_ends
from engine.spark.jvm.conf import ClusterLaunch, driver_address
from engine.spark.jvm.local_files.java_classes import close_by_plan
from engine.spark.jvm.session import (
    close_session,
    closing_session,
    death_explained,
    leave_state,
    open_session,
    scratch_on_this_machine,
)
from engine.spark.jvm.state_in_bucket import state_in_bucket
from engine.spark.read.offset_log import planned_for, read_ends
from engine.spark.read.pulses import Pulses
from engine.spark.read.scan_spec import format_name
from engine.spark.read.starts import begun_tables, histories_of
from engine.spark.run import executors
from engine.spark.run.epoch import EpochGate, EpochPart, planned_epoch
from engine.spark.run.executors import ExecutorWatch, count_executors, probe_executors
from engine.spark.run.failures import explain_failure
from engine.spark.run.mailbox import Mailbox, open_mailbox
from engine.spark.run.operator_times import PlanReader, plan_text
from engine.spark.run.pace import LONGEST_STRETCH
from engine.spark.run.pacing import Pacing, leaves_work, pacing_of
from engine.spark.run.prepared_run import PreparedRun, begin_state, begun_run, prepare, query_of, with_secrets
from engine.spark.run.progress import WrittenEpoch
from engine.spark.run.receivers import Receivers, receivers_of
from engine.spark.run.reports import BucketRequests, Reporter, read_fresh, requests_of
from engine.spark.run.run_spec import RunSpec
from engine.spark.run.single_task import OneTaskPlace
from engine.spark.run.stop_control import Control, Draining, StopRequested
from engine.spark.run.stream import EpochLimits, StreamPart, stream_part
from engine.spark.state.panes import begins_by_pane
from engine.spark.upgrade.hand_over import read_meeting
from engine.spark.upgrade.take_over import refuse_another_history, refuse_empty, save_before, take_over
from engine.spark.write.dead_letters import DeadLetterTable
from engine.spark.write.targets import Target, sink_directory
from engine.values.cluster import is_one_jvm, refuse_master, refuse_missing_files
from engine.values.epoch_report import EpochReport
from engine.values.instants import now
from engine.values.process_endings import count_memory_kills
from engine.values.start_positions import StartStep

__all__ = ("Outcome", "RunSpec", "run", "run_in")

Outcome = Literal["finished", "stopped"]
OnSign: TypeAlias = Callable[[StartStep | None], None]
"""Called while the run is alive, with the step of its start if that has changed."""
_PULSES = "pulses"
_LONG_INTERVAL = timedelta(seconds=5)
"""Longest checkpoint interval to keep during a drain, which takes about four epochs. With a longer one, a new query is
started, which costs about two seconds."""
POLL_SECONDS = 0.03
"""Interval of polling for Spark's report of an epoch. It is short compared with an epoch; each poll is a call into
Java."""
_CALM_POLL_SECONDS = 1.0
"""Interval of polling while no report is due. Neither an epoch nor a stop waits for it."""
_COUNTS_STATE = "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows"
"""Spark setting that counts state rows, set per run. A state without counts is counted when Spark loads it."""
_PARTITIONS = "spark.sql.shuffle.partitions"
"""Spark setting for the number of state partitions. It cannot change for a checkpoint, so it is stored in the claim of
the state."""


def run(
    spec: RunSpec,
    control: Control,
    on_epoch: Callable[[EpochReport], None],
    on_started: Callable[[], None] = lambda: None,
    on_sign: OnSign = lambda _: None,
    warm: Callable[[Path], SparkSession] | None = None,
) -> Outcome:
    """Run until the input ends or a stop is requested. Raise EngineError on failure. `warm` provides a session for a
    directory of logs, and its provider closes it; without it, the run opens its own. The run counts as started
    once an epoch is committed, or if there is nothing to read."""
    on_sign(StartStep.READING)
    refuse_master(spec.master)
    refuse_missing_files(spec.cluster)
    prepared = prepare(spec)
    with ExitStack() as opened:
        opened.callback(prepared.claim.release)
        on_sign(StartStep.JAVA)
        listeners = _Listeners(on_epoch, on_started, on_sign)
        if prepared.claim.is_foreign and spec.has_other_disks:
            prepared = _taken_over_here(prepared, listeners)
        if spec.has_other_disks:
            prepared = replace(prepared, mailbox=opened.enter_context(_mailbox_of(prepared)))
        spark = _open(prepared) if warm is None else warm(prepared.paths.logs)
        opened.callback(close_session if warm is None else leave_state, spark)
        with death_explained():
            if spec.is_on_cluster:
                try:
                    probe_executors(
                        spark,
                        None if spec.has_other_disks else prepared.paths.root,
                        spec.udfs,
                        on_alive=lambda: _go_on(control, on_sign),
                    )
                except StopRequested:
                    return "stopped"
            return _run(spark, _with_own_state(spark, prepared, listeners), control, listeners)


def _go_on(control: Control, on_sign: OnSign) -> None:
    """Report that the run is alive; raise StopRequested if it is to stop."""
    if control.mode is not None:
        raise StopRequested
    on_sign(None)


def _taken_over_here(prepared: PreparedRun, listeners: _Listeners) -> PreparedRun:
    """Return the run once it has taken over the state of another query on the driver's machine: executors do not see
    the files of the state. The start that follows uploads them."""
    there = prepared.spec
    here = replace(prepared, spec=replace(there, settings=replace(there.settings, master=None)))
    with closing_session(_open(here)) as spark, death_explained():
        taken = _with_own_state(spark, here, listeners)
    return replace(taken, spec=replace(there, upgrade=None))


def _mailbox_of(prepared: PreparedRun) -> AbstractContextManager[Mailbox]:
    """Open a mailbox for executors that see another disk."""
    spec = prepared.spec
    assert spec.master is not None
    host, bind = driver_address(spec.cluster, spec.master)
    tables = tuple(prepared.program.tables.values())
    return open_mailbox(prepared.paths.root, bind, host, spec.cluster.mailbox_port, tables=tables)


def _open(prepared: PreparedRun) -> SparkSession:
    """Open the session of a run."""
    spec, mailbox = prepared.spec, prepared.mailbox
    environment = {} if mailbox is None else mailbox.environment
    launch = ClusterLaunch(spec.cluster, environment) if spec.is_on_cluster else None
    return open_session(
        app_name=spec.name,
        log_dir=prepared.paths.logs,
        master=spec.master or f"local[{spec.parallelism}]",
        parallelism=prepared.claim.parallelism,
        memory=spec.settings.memory,
        quick=spec.settings.quick,
        extra_conf=spec.conf,
        cluster=launch,
    )


def run_in(
    spark: SparkSession,
    spec: RunSpec,
    control: Control,
    on_epoch: Callable[[EpochReport], None] = lambda _: None,
    on_started: Callable[[], None] = lambda: None,
    on_sign: OnSign = lambda _: None,
) -> Outcome:
    """Run in an existing session, which stays open."""
    before = {name: str(spark.conf.get(name)) for name in (_PARTITIONS, _COUNTS_STATE)}
    try:
        listeners = _Listeners(on_epoch, on_started, on_sign)
        return _run(spark, _with_own_state(spark, prepare(spec), listeners), control, listeners)
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


@dataclass(frozen=True, slots=True)
class _Listeners:
    """Callbacks of a run."""

    on_epoch: Callable[[EpochReport], None]
    on_started: Callable[[], None]
    on_sign: OnSign


def _with_own_state(spark: SparkSession, prepared: PreparedRun, listeners: _Listeners) -> PreparedRun:
    """Return the run once the state belongs to it: the state of another query is taken over first."""
    spec, held = prepared.spec, prepared.claim
    if spec.upgrade is None:
        return prepared
    if not held.is_foreign:
        if spec.upgrade.is_fork:
            refuse_empty(prepared.paths)
        refuse_another_history(prepared.paths, spec.upgrade)
        save_before(prepared.paths, spec.upgrade, now)
        return prepared
    query = query_of(spec, prepared.program)
    # refused before anything is changed
    histories_of(prepared.program, spec.settings.backfill, begun_tables(prepared.paths.checkpoint))

    def finish(before: Program) -> None:
        filled = replace(before, tables=with_secrets(before), is_fused=spec.settings.fuse)
        # the lock stays with the run that follows
        rest = replace(prepared, program=filled, claim=replace(held, lock=None), only_finishes=True)
        _run(spark, rest, Control(), _Listeners(listeners.on_epoch, lambda: None, listeners.on_sign))
        bring_state_home(prepared.paths)

    fresh = take_over(
        spark,
        prepared.paths,
        prepared.program,
        query,
        held,
        spec.upgrade,
        spec.connections,
        now,
        finish,
        spec.settings.start_from,
        by_pane=begins_by_pane(spec, prepared.program),
    )
    return begun_run(replace(prepared, claim=fresh))


def _run(
    spark: SparkSession,
    prepared: PreparedRun,
    control: Control,
    listeners: _Listeners,
) -> Outcome:
    listeners.on_sign(StartStep.PLANNING)
    program, checkpoint = prepared.program, prepared.paths.checkpoint
    if begins_by_pane(prepared.spec, program) and not is_begun(checkpoint):
        write_panes(checkpoint, fit_for_panes(program.operators))
    parts = with_panes(program.parts, read_panes(checkpoint), program.operators)
    if forms := read_forms(checkpoint):
        newest = spark_log.newest_commit(checkpoint)
        parts = with_forms(parts, forms, program.operators, 0 if newest is None else newest + 1)
    parts = withhold(parts, read_withheld(checkpoint))
    prepared = replace(prepared, program=replace(program, parts=parts))
    spark.conf.set(_PARTITIONS, str(prepared.claim.parallelism))
    spark.conf.set(_COUNTS_STATE, str(prepared.spec.settings.count_state).lower())
    try:
        reporter = Reporter(
            prepared.program,
            prepared.paths.watermarks,
            prepared.claim.lineage,
            counts_state=prepared.spec.settings.count_state,
            is_one_jvm=prepared.spec.master is None or is_one_jvm(prepared.spec.master),
            plans=PlanReader.of([operator.id for operator in program.operators], prepared.program.running_parts),
            parallelism=prepared.claim.parallelism,
        )
        linger, interval = prepared.spec.settings.linger, prepared.spec.epoch_interval
        pacing = pacing_of(prepared.paths.logs / _PULSES, linger, interval, prepared.claim.lineage)
        url = begin_state(prepared)
        owner = None if url is None else own_prefix(url)
        with state_in_bucket(spark, checkpoint, url):
            has_other_disks = prepared.spec.has_other_disks
            receivers = receivers_of(
                prepared.program,
                prepared.paths.intake,
                has_other_disks=has_other_disks,
                keeps_state=prepared.spec.keeps_state,
            )
            running = _Running(
                prepared, control, reporter, listeners, EpochGate(control), pacing, owner=owner, receivers=receivers
            )
            return running.until_end(spark)
    finally:
        if not prepared.spec.keeps_state and not prepared.only_finishes:
            delete_prefixes(prepared.paths)
        prepared.claim.release()  # the callbacks that Spark keeps would hold it for as long as the session lives


@dataclass(frozen=True, slots=True)
class _EpochSteps:
    """Processing of an epoch: its rows pass through the epoch part into the sinks, undecodable records into the tables
    of dead letters."""

    stream: StreamPart
    epoch_part: EpochPart
    dead_letter_tables: Sequence[DeadLetterTable]
    targets: Sequence[Target]


@dataclass(slots=True)
class _Running:
    """A run with its session open. Spark's thread runs the epochs, and writes `begun` and `written`; the thread of the
    run reads them, and reports."""

    prepared: PreparedRun
    control: Control
    reporter: Reporter
    listeners: _Listeners
    begun: EpochGate
    pacing: Pacing
    written: dict[int, WrittenEpoch] = field(default_factory=dict)
    committed_at: datetime | None = None
    has_ended: bool = False
    is_up: bool = False
    memory_kills: int = field(default_factory=count_memory_kills)
    """Number of processes that the kernel had killed for lack of memory when the run began."""
    interval: timedelta = timedelta(0)
    """Shortest time from the start of one epoch to the start of the next."""
    receivers: Receivers = field(default_factory=Receivers)
    query: StreamingQuery | None = None
    """The query that runs; its first epoch may begin before it is known."""
    closes_by_plan: bool = False
    """Whether the query has its planned watermarks (`close_by_plan`)."""
    owner: PrefixOwner | None = None
    """The claim on the prefix in a bucket, if the state is there."""
    requests: BucketRequests | None = None
    """Requests to that bucket, unless the JVM sends those of other pipelines, too."""
    executors: ExecutorWatch | None = None
    """Ends a run on a cluster that has lost all its executors."""

    def until_end(self, spark: SparkSession) -> Outcome:
        spec, paths = self.prepared.spec, self.prepared.paths
        files = [paths.logs / _PULSES / format_name(table) for table in self.prepared.program.scans]
        pulses = Pulses(files, max(spec.epoch_interval, spec.settings.linger, LONGEST_STRETCH))
        pulses.clear()
        self.pacing.begin()
        if spec.is_on_cluster:
            self.executors = ExecutorWatch(lambda: count_executors(spark), str(spec.master), executors.PATIENCE)
        if self.owner is not None and not spec.settings.is_shared:
            self.requests = requests_of(spark)
        steps = self._steps(spark)
        query = self._start(spark, steps, spec.epoch_interval)
        self.listeners.on_sign(StartStep.FIRST_EPOCH)
        draining = Draining(pulses)
        try:
            self.receivers.start()
            outcome = self._watch(query, steps, draining)
            if outcome == "too slow":
                query.stop()
                draining.begin()
                self.begun.admit()
                query = self._start(spark, steps, timedelta(0))
                outcome = self._watch(query, steps, draining)
        finally:
            self.pacing.end()
            query.stop()
            self.receivers.stop()
        assert outcome != "too slow"
        return outcome

    def _start(self, spark: SparkSession, steps: _EpochSteps, interval: timedelta) -> StreamingQuery:
        """Start the query, with the trigger interval of its epochs."""
        self.interval = interval
        self.closes_by_plan = not self.prepared.program.parts.closes_windows

        def run_epoch(rows: DataFrame, number: int) -> None:
            if not self.closes_by_plan:
                ends = window_ends(self.prepared.program.parts.branches)
                close_by_plan(spark, self.prepared.spec.name, ends)
                self.closes_by_plan = True
            self._run_epoch(steps, rows, number)

        query = (
            steps.stream.frame.writeStream.foreachBatch(run_epoch)
            .option("checkpointLocation", str(self.prepared.paths.checkpoint))
            .outputMode("append")
            .queryName(self.prepared.spec.name)
        )
        if self.prepared.only_finishes:
            return query.trigger(once=True).start()
        trigger = f"{interval // timedelta(milliseconds=1)} milliseconds"
        self.query = query.trigger(processingTime=trigger).start()
        return self.query

    def _steps(self, spark: SparkSession) -> _EpochSteps:
        spec, program = self.prepared.spec, self.prepared.program
        targets = [self._target(write.table).receiving(write) for write in program.writes]
        dead_letter_tables = [
            DeadLetterTable(self._target(name), senders, targets)
            for name, senders in program.dead_letter_tables.items()
        ]
        dead_letter_targets = [table.target for table in dead_letter_tables]
        scratch = scratch_on_this_machine(spark) if program.is_for_one_task else None
        place = None if scratch is None else OneTaskPlace(scratch, spec.parallelism)
        epoch_part = EpochPart(program.parts, targets, program.tables, dead_letter_targets, place)
        limits = EpochLimits(
            spec.parallelism,
            spec.settings.max_epoch_rows,
            self.prepared.paths.logs / _PULSES,
            self.pacing.linger,
            self.prepared.histories,
            tells_sources=not spec.is_rehearsal,
            meets=read_meeting(self.prepared.paths),
            intake=self.prepared.paths.intake,
            is_one_jvm=spec.master is None or is_one_jvm(spec.master),
        )
        stream = stream_part(spark, program, epoch_part, self.prepared.paths.watermarks, limits, spec.name)
        return _EpochSteps(stream, epoch_part, dead_letter_tables, (*targets, *dead_letter_targets))

    def _target(self, table: str) -> Target:
        directory = sink_directory(self.prepared.paths.root, table)
        directory.mkdir(parents=True, exist_ok=True)
        spec = self.prepared.spec
        owner = Owner(self.prepared.claim.owner, spec.name, spec.predecessors, is_passing=not spec.keeps_state)
        place = SinkContext(directory, spec.name, owner)
        return Target(self.prepared.program.tables[table], place)

    def _run_epoch(self, steps: _EpochSteps, rows: DataFrame, number: int) -> None:
        """Run one epoch, in Spark's thread. An exception ends the query, with the epoch not committed."""
        self.begun.begin(number)
        paths, closes_windows = self.prepared.paths, self.prepared.program.parts.closes_windows
        epoch = planned_epoch(number, self.prepared.claim, paths.checkpoint, closes_windows=closes_windows)
        append_changes(paths.checkpoint)
        reach(Point.AFTER_OFFSETS, number)
        sinks = steps.epoch_part.run(steps.stream.released(rows), epoch, steps.stream.whole)
        begin = time.monotonic()
        # after all other sinks: what those have left out is known once they have recorded the epoch
        ends = read_ends(paths.checkpoint, number)
        fresh_ends = planned_for(paths.checkpoint, number, ends)
        for dead_letter_table in steps.dead_letter_tables:
            dead_letter_table.take(epoch, fresh_ends, paths.watermarks)
        refused_of, read = steps.epoch_part.refused(), self.reporter.count(ends, fresh_ends)
        late = self.reporter.late(sinks.late_minutes)
        if late:
            late_batches.keep(paths, LateBatch(self.prepared.claim.lineage, number, late))
        self.written[number] = WrittenEpoch(
            sinks.rows,
            sum(refused_of.values()),
            epoch.watermark,
            sinks.held_from,
            rows_of=sinks.rows_of,
            delivery_of=sinks.delivery_of,
            plan="" if self.query is None else plan_text(rows.sparkSession, self.query, number),
            refused_of=refused_of,
            refused_in_epoch=steps.epoch_part.refused_in(number),
            delivery=sinks.delivery + timedelta(seconds=time.monotonic() - begin),
            waited=self.pacing.waited(),
            read=read,
            late=late,
        )
        self.pacing.rest(goes_on=leaves_work(ends, fresh_ends, read, self.prepared.spec.settings.max_epoch_rows))
        self.control.wake()
        reach(Point.AFTER_SINKS, number)

    def _watch(self, query: StreamingQuery, steps: _EpochSteps, draining: Draining) -> Outcome | Literal["too slow"]:
        """Watch the query until the run has ended, or until the query polls too seldom for its work."""
        while True:
            is_calm = self.is_up and not self.written and self.control.mode is None
            self.control.wait(_CALM_POLL_SECONDS if is_calm else POLL_SECONDS)
            if self.control.mode is not None:
                self.pacing.hurry()
            # asked before reporting: what an epoch left behind that ended in between is reported below
            is_active = query.isActive
            self.receivers.raise_failure()
            self._report(query)
            self._show_life(steps, draining.pulses)
            self._look_around()
            if self.has_ended:
                return "finished"
            if not is_active:
                return self._why_inactive(query)
            if (outcome := self._outcome_of_stop(draining)) is not None:
                return outcome

    def _look_around(self) -> None:
        """Raise an error if another run has the state now, or the cluster has no executor any more."""
        refuse_lost(self.prepared.paths.root)
        if self.owner is not None:
            self.owner.look()
        if self.executors is not None:
            self.executors.look()

    def _outcome_of_stop(self, draining: Draining) -> Literal["stopped", "too slow"] | None:
        """Return how the run ends on request; None if it need not stop, or if an epoch is awaited."""
        match self.control.mode:
            case "immediate":
                return "stopped"
            case "checkpoint" if not self.begun.is_under_way:
                return "stopped"
            case "graceful" if self.interval > _LONG_INTERVAL and self.begun.refuse():
                return "too slow"
            case "graceful" if draining.is_over(self.begun.newest, is_in_epoch=self.begun.is_under_way):
                return "stopped"
        return None

    def _show_life(self, steps: _EpochSteps, pulses: Pulses) -> None:
        """Report that the run is alive: the JVM has just answered. During an epoch that suffices, however long the
        epoch takes; between epochs the planners must answer, too."""
        if not self.is_up and (self.begun.newest_reported >= 0 or self._is_idle(steps, pulses)):
            self.is_up = True
            self.listeners.on_started()
        if self.begun.is_under_way or pulses.is_beating():
            self.listeners.on_sign(None)

    def _is_idle(self, steps: _EpochSteps, pulses: Pulses) -> bool:
        """Whether there is nothing to read, and every sink could take an epoch."""
        if self.begun.newest >= 0 or not pulses.found_nothing():
            return False
        for target in steps.targets:
            target.probe()
        return True

    def _why_inactive(self, query: StreamingQuery) -> Outcome:
        try:
            query.awaitTermination(1)
        except PySparkException as error:
            # it has crossed Java and comes back as text
            if self.control.mode is not None and StopRequested.__name__ in message_of(error):
                return "stopped"
            memory_kills = count_memory_kills() - self.memory_kills
            raise explain_failure(error, self.prepared.paths, memory_kills) from error
        return "stopped"

    def _report(self, query: StreamingQuery) -> None:
        if not self.written:
            return  # nothing was written that is not reported: Spark need not turn its reports into text
        for content in read_fresh(query, self.begun.newest_reported):
            number = int(str(content["batchId"]))
            if number not in self.written:
                continue  # an epoch that Spark has only looked for
            report = self.reporter.read(content, self.written.pop(number), self.committed_at)
            if self.requests is not None:
                report = replace(report, state_requests=self.requests.since_last())
            self.committed_at = report.at
            self.begun.newest_reported = number
            self.pacing.note(report.duration)
            reach(Point.AFTER_COMMIT, number)
            self.listeners.on_epoch(report)
            self.has_ended = self.has_ended or report.is_last
