"""Control loop that brings jobs to their desired state: observe, decide, store the intent, act.

One round over a stopped job that should run:

    observe  status Stopped, generation 2; no run is open
    decide   Launch
    store    status Scheduling, generation 3; a run 3 without a pid, and the hash of its key
    act      write the assignment, start the process, store its pid

A crash after "store" leaves a run without a pid. If a process of that run takes the pipeline's lock it is adopted;
without one within `_BIRTH` the run counts as gone, and the job recovers with generation 4.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

from engine.checkpoints.layout import StatePaths
from engine.checkpoints.lineage import read_lineage
from engine.checkpoints.spark_log import newest_commit
from engine.delivery.faults import reach
from engine.errors import UnreadableStateError, message_of
from engine.jobs.actors import JobRecord, Records, author_of
from engine.jobs.decisions.decide import Policy, decide
from engine.jobs.decisions.intend import intend
from engine.jobs.decisions.observe import (
    AbandonRescale,
    AcceptMaintenance,
    Action,
    Drain,
    EndMaintenance,
    GiveUp,
    Kill,
    Launch,
    Maintenance,
    MaintenanceTask,
    Observation,
    Process,
    Recover,
    Repartition,
    RestoreSavepoint,
    Wait,
)
from engine.jobs.decisions.status import Failure, Goodbye, JobEvent, Progress, Run
from engine.jobs.disk import DataDirectory
from engine.jobs.fault_points import ControlPoint
from engine.jobs.processes.assignment import Assignment
from engine.jobs.processes.runner import Runner
from engine.jobs.troubles import Troubles, unstartable
from engine.values.instants import Clock
from engine.values.run_settings import read_run_settings

LOG = logging.getLogger(__name__)

_BIRTH = timedelta(seconds=5)
"""Time for a process without a stored pid to take its lock: ten times what Python needs to start."""


class LastReportTimes(Protocol):
    """Times of the drivers' last reports."""

    def last(self, job_id: str, generation: int) -> datetime | None:
        """Return when a run last reported; None if it has not reported to this process."""

    def last_sign(self, job_id: str, generation: int) -> datetime | None:
        """Return when a run last showed that it is alive; None if it has not done so to this process."""


@dataclass(frozen=True, slots=True)
class DriverSettings:
    """Settings of drivers."""

    heartbeat: timedelta = timedelta(seconds=1)
    lease: timedelta = timedelta(minutes=10)
    stuck_limit: timedelta = timedelta(seconds=60)
    connections: str = field(default="", repr=False)
    """CREATE CONNECTION statements that every pipeline may use."""


@dataclass(slots=True)
class Controller:
    """Controls all jobs of one store. Only one may exist per store."""

    records: Records
    runner: Runner
    last_reports: LastReportTimes
    directory: DataDirectory
    clock: Clock
    policy: Policy = field(default_factory=Policy)
    driver_settings: DriverSettings = field(default_factory=DriverSettings)
    on_change: Callable[[str], None] = lambda pipeline_id: None
    hear_goodbye: Callable[[Run], bool] = lambda run: False
    """Processes the exit message of a run that is gone, if it was not acknowledged."""
    interval: timedelta = timedelta(milliseconds=250)
    troubles: Troubles = field(default_factory=Troubles)
    """Records that a pipeline's next step is impossible."""
    _wakeup: threading.Event = field(default_factory=threading.Event)
    _closing: bool = False
    _logged: dict[str, str] = field(default_factory=dict)
    """Errors of the newest round, by pipeline."""
    _unstarted: dict[str, tuple[int, Failure]] = field(default_factory=dict)
    """Newest run of a job that this machine could not start, and why."""
    _unbegun: dict[str, Maintenance] = field(default_factory=dict)
    """Maintenance of a pipeline that this machine could not start."""
    _awake_since: datetime = field(init=False)
    _last_round: datetime = field(init=False)

    def __post_init__(self) -> None:
        self._awake_since = self._last_round = self.clock()

    def wake(self) -> None:
        """Start a round now; safe from any thread."""
        self._wakeup.set()

    def close(self) -> None:
        """Make `run` return after the current round. Drivers continue."""
        self._closing = True
        self._wakeup.set()

    def run(self) -> None:
        """Control the jobs until closed."""
        while not self._closing:
            self._wakeup.clear()
            with self._going_on("the control plane"):
                self.round()
            self._wakeup.wait(self.interval.total_seconds())

    def round(self) -> None:
        """Advance every job that may have something to do by one step."""
        self._notice_sleep(self.clock())
        for record in self.records.active():
            with self._going_on(f"pipeline {record.pipeline.id}"), self._blocking(record.pipeline.id):
                self._advance(record)

    @contextmanager
    def _going_on(self, whose: str) -> Iterator[None]:
        """Contain an error: if the thread ended, all jobs would be without control. With four rounds a second, an error
        that repeats is logged once."""
        try:
            yield
        except Exception as error:
            text = message_of(error).partition("\n")[0]
            if self._logged.get(whose) != text:
                LOG.exception("%s: an error ends this round; the next one tries again", whose)
            self._logged[whose] = text
        else:
            self._logged.pop(whose, None)

    @contextmanager
    def _blocking(self, pipeline_id: str) -> Iterator[None]:
        """Show a fault of the disk as what blocks the pipeline, until a later round meets none."""
        try:
            yield
        except OSError as error:
            self.troubles.block(pipeline_id, unstartable("next step", error))
            raise
        self.troubles.unblock(pipeline_id)

    def _notice_sleep(self, now: datetime) -> None:
        """Note that the machine was suspended, or that its clock was set. No driver could report meanwhile, so their
        silence before this is no fault. Reports from before a clock that was set back do not count, or a silent driver
        would not be noticed."""
        if not timedelta(0) <= now - self._last_round <= self.policy.heartbeat_limit / 3:
            self._awake_since = now
        self._last_round = now

    def _advance(self, record: JobRecord) -> None:
        now = self.clock()
        observation = self._observe(record, now)
        if self._has_left_goodbye(record, observation):
            self._wakeup.set()
            return
        if record.run is not None and observation.process is Process.GONE and observation.goodbye is None:
            self._note_last_commit(record)
        action = decide(record.pipeline, record.status, observation, now, self.policy)
        if isinstance(action, Wait):
            return
        after, key = self._intent(record, action, observation, now)
        # Another request may have changed the record since it was read. Then nothing was saved, and nothing is done.
        reach(ControlPoint.BEFORE_INTENT, type(action).__name__)
        if after != record:
            if not self.records.save(record, after, _event(record, after, action, now)):
                self._wakeup.set()
                return
            self.on_change(record.pipeline.id)
            self._wakeup.set()
        reach(ControlPoint.AFTER_INTENT, type(action).__name__)
        self._act(after, action, key, record.run)
        reach(ControlPoint.AFTER_ACTION, type(action).__name__)

    def _has_left_goodbye(self, record: JobRecord, observation: Observation) -> bool:
        """Whether the driver has ended and has left an undelivered exit message, which is recorded now."""
        if record.run is None or observation.goodbye is not None:
            return False
        is_gone = observation.process in (Process.GONE, Process.ORPHANED)
        return is_gone and self.hear_goodbye(record.run)

    def _note_last_commit(self, record: JobRecord) -> None:
        """Record the last epoch of a driver that was killed before it could report it."""
        lineage, paths = record.status.progress.lineage, StatePaths(self.directory.state(record.pipeline.id))
        try:
            epoch = newest_commit(paths.checkpoint)
            # asked last: a state that is being swapped has epochs of the same numbers
            if epoch is not None and lineage is not None and read_lineage(paths.lineage).id == lineage:
                self.records.note_commit(record.status.job_id, lineage, epoch)
        except (OSError, UnreadableStateError) as error:
            LOG.warning("pipeline %s: its newest epoch cannot be read: %s", record.pipeline.id, error)

    def _observe(self, record: JobRecord, now: datetime) -> Observation:
        maintenance = self.runner.maintenance(record.pipeline.id) or self._unbegun.get(record.pipeline.id)
        run = record.run
        if run is None:
            return Observation(maintenance=maintenance)
        called_at = self.last_reports.last(run.job_id, run.generation) or run.launched_at
        signed_at = self.last_reports.last_sign(run.job_id, run.generation) or run.launched_at
        # asked last: a call that comes while it is looked would else be one of a clock that was set back
        looked_at = self.clock()
        silence, stillness = self._since(called_at, looked_at), self._since(signed_at, looked_at)
        if run.pid is None and self._unstarted.get(run.job_id, (0, None))[0] == run.generation:
            goodbye = Goodbye("failed", self._unstarted[run.job_id][1])
            return Observation(Process.GONE, silence, stillness, goodbye=goodbye, maintenance=maintenance)
        process = self._look(run, now)
        if process is Process.ORPHANED and run.goodbye is not None:
            # What a driver leaves behind after a goodbye has no more to do with its pipeline: a JVM that has closed its
            # session writes an archive of its classes.
            process = Process.GONE
        ending = self.runner.ending(run) if process is Process.GONE else None
        is_up = run.running_at is not None
        watch = now - self._awake_since
        return Observation(process, silence, stillness, is_up, run.step, ending, run.goodbye, maintenance, watch)

    def _since(self, at: datetime, now: datetime) -> timedelta:
        """Return the time since an instant. An instant in the future comes from a clock that was set back since."""
        return now - (self._awake_since if at > now else max(at, self._awake_since))

    def _look(self, run: Run, now: datetime) -> Process:
        """Return the process of a run. Without a pid, the start of the run was interrupted before its pid was
        recorded."""
        if run.pid is not None:
            return self.runner.look(run)
        if (holder := self.runner.find(run)) is not None:
            self.records.set_process(run, holder.pid, holder.born)
            return Process.ALIVE
        return Process.GONE if now - run.launched_at > _BIRTH else Process.ALIVE

    def _intent(
        self, record: JobRecord, action: Action, observation: Observation, now: datetime
    ) -> tuple[JobRecord, str]:
        """Return the record to store before the action, and the new run's secret, which is stored only as a hash."""
        pipeline, status = intend(action, record.pipeline, record.status, now)
        run = record.run
        if run is not None and observation.process is Process.GONE:
            run = replace(run, ended_at=now)
        key = ""
        if isinstance(action, Launch):
            if self._begins_lineage(record):
                status = replace(status, progress=Progress())
            key = secrets.token_urlsafe(32)
            run = Run(
                job_id=status.job_id,
                pipeline_id=pipeline.id,
                generation=status.generation,
                key_hash=hash_key(key),
                version=pipeline.version,
                parallelism=pipeline.parallelism,
                launched_at=now,
            )
        return JobRecord(pipeline, status, run), key

    def _begins_lineage(self, record: JobRecord) -> bool:
        """Whether the run to be launched may not continue from the recorded progress: it may discard the state, or
        another one was restored."""
        pipeline, progress = record.pipeline, record.status.progress
        if self.records.version(pipeline.id, pipeline.version).force:
            return True
        return progress.lineage is not None and not self._continues(pipeline.id, progress.lineage, progress.epoch or 0)

    def _continues(self, pipeline_id: str, lineage: str, epoch: int) -> bool:
        """Whether the state on disk has that lineage, or one that descends from it at that epoch or later."""
        try:
            current = read_lineage(StatePaths(self.directory.state(pipeline_id)).lineage)
        except UnreadableStateError:
            return False
        return current.id == lineage or any(parent == lineage and last >= epoch for parent, last in current.parents)

    def _act(self, record: JobRecord, action: Action, key: str, old: Run | None) -> None:
        pipeline_id = record.pipeline.id
        match action:
            case Launch() if record.run is not None:
                self._launch(self._assignment(record, record.run, key), record.run)
            case Drain() if old is not None:
                self.runner.poke(old)
            case Kill() if old is not None:
                self.runner.kill(old)
            case Repartition() | RestoreSavepoint():
                self._begin_maintenance(pipeline_id, action)
            case EndMaintenance(failure):
                self.runner.kill_maintenance(pipeline_id, failure)
            case AcceptMaintenance() | AbandonRescale() | GiveUp() | Recover():
                self._unbegun.pop(pipeline_id, None)
                self.runner.end_maintenance(pipeline_id)
            case _:
                pass

    def _launch(self, assignment: Assignment, run: Run) -> None:
        """Start a driver. If the machine has no room for it, the start has failed, and the driver has not died: a full
        disk is retried until there is room."""
        try:
            holder = self.runner.launch(assignment)
        except OSError as error:
            self._unstarted[run.job_id] = (run.generation, unstartable("driver", error))
            self._wakeup.set()
            return
        self._unstarted.pop(run.job_id, None)
        reach(ControlPoint.AFTER_SPAWN)
        self.records.set_process(run, holder.pid, holder.born)

    def _begin_maintenance(self, pipeline_id: str, task: MaintenanceTask) -> None:
        """Start maintenance. If the machine has no room for it, it counts as failed."""
        try:
            self.runner.begin_maintenance(pipeline_id, task)
        except OSError as error:
            what = "rescale" if isinstance(task, Repartition) else "restore"
            self._unbegun[pipeline_id] = Maintenance(task, "failed", unstartable(what, error))
            self._wakeup.set()

    def _assignment(self, record: JobRecord, run: Run, key: str) -> Assignment:
        version = self.records.version(record.pipeline.id, run.version)
        interval = version.spec.checkpoint_interval
        return Assignment(
            job_id=run.job_id,
            pipeline_id=run.pipeline_id,
            generation=run.generation,
            key=key,
            server_file=self.directory.server,
            lock=self.directory.driver_lock(run.pipeline_id),
            state_dir=self.directory.state(run.pipeline_id),
            name=record.pipeline.name,
            query=version.spec.query,
            udfs=version.spec.udfs,
            connections=self.driver_settings.connections,
            secrets=dict(self.records.secrets(record.pipeline.id)),
            settings=read_run_settings(version.spec.settings),
            parallelism=run.parallelism,
            force=version.force,
            upgrade=version.upgrade,
            predecessors=version.predecessors,
            checkpoint_interval_seconds=None if interval is None else interval.total_seconds(),
            heartbeat_seconds=self.driver_settings.heartbeat.total_seconds(),
            lease_seconds=self.driver_settings.lease.total_seconds(),
            stuck_seconds=self.driver_settings.stuck_limit.total_seconds(),
        )


def hash_key(key: str) -> str:
    """Return the stored form of a secret, which recognises the secret and cannot be used in its place."""
    return hashlib.sha256(key.encode()).hexdigest()


def _event(before: JobRecord, after: JobRecord, action: Action, now: datetime) -> JobEvent | None:
    """Return the event that a step leaves for the job's owner, if it changes the state or fails something."""
    job, generation, who = after.status.job_id, after.status.generation, author_of(before, action)
    match action:
        case Recover(failure) | GiveUp(failure) | AbandonRescale(failure):
            return JobEvent(job, now, "error", failure.message, failure.code, failure.hint, generation, who=who)
        case Kill(_, failure) if failure is not None:
            return JobEvent(job, now, "warn", failure.message, failure.code, failure.hint, generation, who=who)
        case _ if before.status.state is not after.status.state:
            return JobEvent(
                job, now, "info", f"{before.status.state} to {after.status.state}", generation=generation, who=who
            )
    return None
