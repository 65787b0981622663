"""The loop that brings jobs to what is wanted: look, decide, write the intent down, act."""

from __future__ import annotations

import hashlib
import logging
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

from engine.instants import Clock
from engine.jobs.actions import (
    AbandonRescale,
    AcceptChore,
    Action,
    Drain,
    GiveUp,
    Kill,
    Launch,
    Recover,
    Repartition,
    RestoreSavepoint,
    Wait,
)
from engine.jobs.assignment import Assignment
from engine.jobs.data_directory import Places
from engine.jobs.decide import Policy, decide
from engine.jobs.intend import intend
from engine.jobs.observe import Observation, Process
from engine.jobs.records import Case, Records
from engine.jobs.runner import Runner
from engine.jobs.status import Note, Run

LOG = logging.getLogger(__name__)

_BIRTH = timedelta(seconds=5)
"""A process whose pid was not written down has this long to take its lock: ten times what Python needs to start."""


class Heard(Protocol):
    """Knows when drivers were last heard of."""

    def last(self, job_id: str, generation: int) -> datetime | None:
        """When a run last called home; None when it has not since this process started."""


@dataclass(frozen=True, slots=True)
class Driving:
    """How drivers are told to behave."""

    heartbeat: timedelta = timedelta(seconds=1)
    lease: timedelta = timedelta(minutes=10)
    connections: str = field(default="", repr=False)
    """CREATE CONNECTION statements that every pipeline may use."""


@dataclass(slots=True)
class Controller:
    """Looks after all jobs of one store. Only one may exist per store."""

    records: Records
    runner: Runner
    heard: Heard
    places: Places
    clock: Clock
    policy: Policy = field(default_factory=Policy)
    driving: Driving = field(default_factory=Driving)
    on_change: Callable[[str], None] = lambda pipeline_id: None
    interval: timedelta = timedelta(milliseconds=250)
    _bell: threading.Event = field(default_factory=threading.Event)
    _closing: bool = False
    _awake_since: datetime = field(init=False)
    _last_round: datetime = field(init=False)

    def __post_init__(self) -> None:
        self._awake_since = self._last_round = self.clock()

    def wake(self) -> None:
        """Look again now; safe from any thread."""
        self._bell.set()

    def close(self) -> None:
        """Make `run` return after the round in hand. Drivers are left alone."""
        self._closing = True
        self._bell.set()

    def run(self) -> None:
        """Look after the jobs until closed."""
        while not self._closing:
            self._bell.clear()
            self.round()
            self._bell.wait(self.interval.total_seconds())

    def round(self) -> None:
        """One look at every job in which something may be to do."""
        self._notice_sleep(self.clock())
        for case in self.records.active():
            try:
                self._tend(case)
            except Exception:
                LOG.exception("pipeline %s: this round was cut short", case.pipeline.id)

    def _notice_sleep(self, now: datetime) -> None:
        """A machine that was suspended, or whose clock was set, has heard nobody: that is no driver's fault."""
        if now - self._last_round > self.policy.heartbeat_limit / 3:
            self._awake_since = now
        self._last_round = now

    def _tend(self, case: Case) -> None:
        now = self.clock()
        seen = self._observe(case, now)
        action = decide(case.pipeline, case.status, seen, now, self.policy)
        if isinstance(action, Wait):
            return
        after, key = self._intent(case, action, seen, now)
        if after != case:
            if not self.records.save(case, after, _note(case, after, action, now)):
                self._bell.set()
                return
            self.on_change(case.pipeline.id)
            self._bell.set()
        self._act(after, action, key, case.run)

    def _observe(self, case: Case, now: datetime) -> Observation:
        chore = self.runner.chore(case.pipeline.id)
        run = case.run
        if run is None:
            return Observation(chore=chore)
        last = self.heard.last(run.job_id, run.generation) or run.launched_at
        heard = max(last, self._awake_since)
        process = self._look(run, now)
        if process is Process.ORPHANED and run.goodbye is not None:
            # What a driver leaves behind after a goodbye has no more to do with its pipeline: a JVM that has closed its
            # session writes an archive of its classes.
            process = Process.GONE
        return Observation(process, now - heard, run.running_at is not None, run.goodbye, chore)

    def _look(self, run: Run, now: datetime) -> Process:
        """A run without a pid is one whose start was cut short between the spawn and the note of it."""
        if run.pid is not None:
            return self.runner.look(run)
        if (holder := self.runner.find(run)) is not None:
            self.records.set_process(run, holder.pid, holder.born)
            return Process.ALIVE
        return Process.GONE if now - run.launched_at > _BIRTH else Process.ALIVE

    def _intent(self, case: Case, action: Action, seen: Observation, now: datetime) -> tuple[Case, str]:
        """What the records are to say, and the new run's secret, which they hold only the hash of."""
        pipeline, status = intend(action, case.pipeline, case.status, now)
        run = case.run
        if run is not None and seen.process is Process.GONE:
            run = replace(run, ended_at=now)
        key = ""
        if isinstance(action, Launch):
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
        return Case(pipeline, status, run), key

    def _act(self, case: Case, action: Action, key: str, old: Run | None) -> None:
        pipeline_id = case.pipeline.id
        match action:
            case Launch() if case.run is not None:
                holder = self.runner.launch(self._assignment(case, case.run, key))
                self.records.set_process(case.run, holder.pid, holder.born)
            case Drain() if old is not None:
                self.runner.poke(old)
            case Kill() if old is not None:
                self.runner.kill(old)
            case Repartition(parallelism):
                state = str(self.places.state(pipeline_id))
                self.runner.begin_chore(pipeline_id, "rescale", str(parallelism), [state, str(parallelism)])
            case RestoreSavepoint(restore):
                source = self.places.savepoint(pipeline_id, restore.savepoint_id)
                args = [str(source), str(self.places.state(pipeline_id))]
                replay = ["--allow-replay"] if restore.allow_replay else []
                self.runner.begin_chore(pipeline_id, "restore", restore.savepoint_id, [*args, *replay])
            case AcceptChore() | AbandonRescale() | GiveUp():
                self.runner.end_chore(pipeline_id)
            case _:
                pass

    def _assignment(self, case: Case, run: Run, key: str) -> Assignment:
        version = self.records.version(case.pipeline.id, run.version)
        interval = version.spec.checkpoint_interval
        return Assignment(
            job_id=run.job_id,
            pipeline_id=run.pipeline_id,
            generation=run.generation,
            key=key,
            server_file=self.places.server,
            lock=self.places.driver_lock(run.pipeline_id),
            state_dir=self.places.state(run.pipeline_id),
            name=case.pipeline.name,
            query=version.spec.query,
            udfs=version.spec.udfs,
            connections=self.driving.connections,
            settings=dict(version.spec.settings),
            parallelism=run.parallelism,
            force=version.force,
            checkpoint_interval_seconds=None if interval is None else interval.total_seconds(),
            heartbeat_seconds=self.driving.heartbeat.total_seconds(),
            lease_seconds=self.driving.lease.total_seconds(),
        )


def hash_key(key: str) -> str:
    """What is stored of a secret: enough to know it again, not to use it."""
    return hashlib.sha256(key.encode()).hexdigest()


def _note(before: Case, after: Case, action: Action, now: datetime) -> Note | None:
    """What the owner of a job can read about a step; steps that change no state and fail nothing leave no note."""
    job, generation = after.status.job_id, after.status.generation
    match action:
        case Recover(failure) | GiveUp(failure) | AbandonRescale(failure):
            return Note(job, now, "error", failure.message, failure.code, failure.hint, generation)
        case Kill(_, failure) if failure is not None:
            return Note(job, now, "warn", failure.message, failure.code, failure.hint, generation)
        case _ if before.status.state is not after.status.state:
            return Note(job, now, "info", f"{before.status.state} to {after.status.state}", generation=generation)
    return None
