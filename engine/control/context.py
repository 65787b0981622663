"""Services of the handlers, created when the control plane starts."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import Connection

from engine.control.access import Admission, Sessions
from engine.control.changes import Changes
from engine.control.savepoints.savepoint_holds import Holds
from engine.control.traces.requested_starts import EmitSpan, RequestedStarts
from engine.control.upgrades.rendezvous import Planner, Rendezvous, StateRendezvous
from engine.errors import EngineError, PipelineNotFoundError
from engine.jobs.actors import CONTROL_PLANE
from engine.jobs.decisions import intend
from engine.jobs.decisions.rollback import RehearsalLimits
from engine.jobs.decisions.status import JobEvent, Run
from engine.jobs.disk import DataDirectory, Limits
from engine.jobs.processes.left_by_drivers import WIRE, is_spoken
from engine.jobs.processes.probes import Probe, ProbeResult, ReadRows
from engine.jobs.processes.process_usage import RunUsage, SharedWith
from engine.openlineage.datasets import JOB_NAMESPACE
from engine.store.database import Database
from engine.store.jobs import events, runs
from engine.store.jobs.records import read_record
from engine.store.pipelines import pipelines, versions
from engine.store.savepoints import Savepoint
from engine.values.instants import Clock


def adopt(connection: Connection, run: Run, wire: int, now: datetime) -> None:
    """Adopt a driver of another version, or restart it if its protocol is not supported; record which as an event.
    For a driver of this version, record only its protocol version."""
    runs.set_wire(connection, run, wire)
    if wire == WIRE:
        return
    record = read_record(connection, run.pipeline_id)
    if record.status.generation != run.generation or run.ended_at is not None:
        return
    version = f"run {run.generation} was started by another version of the engine (protocol {wire}"
    if is_spoken(wire):
        words = f"{version}, control plane: {WIRE}): adopted, keeps running"
        _tell(connection, run, JobEvent(run.job_id, now, "info", words, "run.adopted"))
        return
    if run.wire is not None and record.pipeline.restarts_asked > record.status.restarts_done:
        return  # it was told so before
    words = f"{version}, not supported by this control plane): restarting after its current epoch"
    _tell(connection, run, JobEvent(run.job_id, now, "warn", words, "run.too_old"))
    if record.pipeline.stop == "none":
        again = intend.ask_restart(record.pipeline, record.status, force=False)
        pipelines.update(connection, replace(again, asked_by=None))


def _tell(connection: Connection, run: Run, event: JobEvent) -> None:
    events.add(connection, replace(event, generation=run.generation, who=CONTROL_PLANE))


LOG = logging.getLogger(__name__)


def read_unread(context: Context) -> None:
    """Plan these versions again, and record their targets. Two pipelines that write to the same target already may
    continue; the next version of either is refused."""
    with context.database.reading() as connection:
        pending = versions.unread(connection)
    for pipeline_id, number in pending:
        names = _targets_of(context, pipeline_id, number)
        with context.database.writing() as connection:
            versions.write(connection, pipeline_id, number, names)


def _targets_of(context: Context, pipeline_id: str, number: int) -> tuple[str, ...]:
    try:
        with context.database.reading() as connection:
            pipelines.get(connection, pipeline_id)
            spec = versions.get(connection, pipeline_id, number).spec
        return context.planner.plan(spec.query, spec.udfs).targets
    except PipelineNotFoundError:
        return ()
    except EngineError as error:
        LOG.warning("pipeline %s: the targets of version %s are unknown, since %s", pipeline_id, number, error)
        return ()


@dataclass(frozen=True, slots=True)
class SavepointContent:
    """Content of a complete savepoint."""

    epoch: int
    watermark: datetime | None
    parallelism: int
    bytes: int
    version: int | None = None
    """Version of the pipeline that the state belongs to."""


TakeSavepoint = Callable[[Path, Savepoint, Mapping[str, int]], SavepointContent]
"""Takes a savepoint of a state directory, with the pipeline's versions by fingerprint. Raises EngineError."""

PlayDrill = Callable[[Path], str]
"""Runs a restore test of a savepoint, and returns its result. Raises EngineError."""


@dataclass(frozen=True, slots=True)
class MeasuredUsage:
    """Resource usage of a run. `cores` is the CPU time of all its processes per second since the previous measurement,
    None after the first."""

    usage: RunUsage
    at: datetime
    cores: float | None = None
    shared_java: SharedWith | None = None
    """The shared JVM, if it has none of its own."""

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of all its processes since the run began."""
        return sum(part.cpu_seconds for part in self.usage.values())

    @property
    def memory_bytes(self) -> int:
        """The memory of all its processes."""
        return sum(part.memory_bytes for part in self.usage.values())


@dataclass(slots=True)
class LastReports:
    """Time of each run's last report. In memory: after a restart every run gets its full timeout again."""

    _at: dict[str, tuple[int, datetime]] = field(default_factory=dict)
    _signs: dict[str, tuple[int, int | None, datetime]] = field(default_factory=dict)
    _usages: dict[str, tuple[int, MeasuredUsage]] = field(default_factory=dict)

    def record(self, job_id: str, generation: int, at: datetime) -> None:
        """Record a call of a run."""
        if not self._is_late(job_id, generation):
            self._at[job_id] = (generation, at)

    def record_signs(self, job_id: str, generation: int, signs: int | None, at: datetime) -> None:
        """Record how often the work of a run has shown progress so far. A run of an earlier version does not report
        that: then each of its calls counts as progress."""
        match self._signs.get(job_id):
            case (newest, count, _) if newest == generation and count == signs is not None:
                return
        if not self._is_late(job_id, generation):
            self._signs[job_id] = (generation, signs, at)

    def record_usage(
        self, job_id: str, generation: int, usage: RunUsage, at: datetime, shared_java: SharedWith | None = None
    ) -> None:
        """Record a run's measurement of its CPU time and memory."""
        measured = MeasuredUsage(usage, at, shared_java=shared_java)
        before = self.usage(job_id, generation)
        if before is not None and at > before.at:
            cores = (measured.cpu_seconds - before.cpu_seconds) / (at - before.at).total_seconds()
            measured = replace(measured, cores=max(0.0, cores))
        if not self._is_late(job_id, generation):
            self._usages[job_id] = (generation, measured)

    def usage(self, job_id: str, generation: int) -> MeasuredUsage | None:
        """Return the resource use of this run, if it has reported any."""
        match self._usages.get(job_id):
            case (newest, measured) if newest == generation:
                return measured
        return None

    def shared_java(self, run: Run | None) -> SharedWith | None:
        """Return the JVM that this run shares with other pipelines, if it has reported one."""
        measured = None if run is None else self.usage(run.job_id, run.generation)
        return None if measured is None else measured.shared_java

    def forget(self, job_id: str) -> None:
        """Forget a deleted job."""
        for calls in (self._at, self._signs, self._usages):
            calls.pop(job_id, None)

    def _is_late(self, job_id: str, generation: int) -> bool:
        """Whether a later run has reported before: a late message of its predecessor must not hide its silence."""
        match self._at.get(job_id):
            case (newest, _):
                return generation < newest
        return False

    def last_sign(self, job_id: str, generation: int) -> datetime | None:
        """Return when this run last showed that it is alive, if it has."""
        match self._signs.get(job_id):
            case (newest, _, at) if newest == generation:
                return at
        return None

    def last(self, job_id: str, generation: int) -> datetime | None:
        """Return when this run last reported, if it has."""
        match self._at.get(job_id):
            case (newest, at) if newest == generation:
                return at
        return None


@dataclass(frozen=True, slots=True)
class Context:
    """Services of a control plane for its request handlers."""

    database: Database
    directory: DataDirectory
    clock: Clock
    wake: Callable[[], None]
    """Makes the controller run its next round now."""
    changes: Changes
    last_reports: LastReports
    planner: Planner
    take: TakeSavepoint
    version: str
    instance: str
    rehearsals: RehearsalLimits = field(default_factory=RehearsalLimits)
    rehearsals_changed: threading.Event = field(default_factory=threading.Event)
    """Set when a rehearsal was requested or cancelled."""
    previews_at_once: int = 4
    """Largest number of concurrent previews."""
    pushes_changed: threading.Event = field(default_factory=threading.Event)
    """Set when a push was added or changed."""
    free_bytes: Callable[[], int] = lambda: 2**60
    """Free bytes on the disk of the data directory."""
    free_memory: Callable[[], int | None] = lambda: 2**60
    """Free memory of this machine; None if unknown."""
    meetings: Rendezvous = field(default_factory=StateRendezvous)
    connections: str = field(default="", repr=False)
    """The administrator's CREATE CONNECTION statements."""
    max_query_bytes: int = 1024 * 1024
    long_poll_max: timedelta = timedelta(seconds=55)
    stream_max: timedelta = timedelta(minutes=10)
    """Longest duration of an event stream before its reader has to reconnect."""
    settle_wait: timedelta = timedelta(seconds=5)
    """How long a request for a savepoint is held until it completes."""
    in_hand: dict[str, Savepoint] = field(default_factory=dict)
    """Savepoints that are being taken, by id."""
    holds: Holds = field(default_factory=Holds)
    """Readers of savepoints in this process."""
    limits: Limits = field(default_factory=Limits)
    """Retention limits."""
    admission: Admission = field(default_factory=Admission)
    """Valid named tokens."""
    sessions: Sessions = field(default_factory=Sessions)
    lineage_namespace: str = JOB_NAMESPACE
    """OpenLineage namespace of pipelines."""
    """The browsers that are let in."""
    emit_span: EmitSpan | None = None
    """Receives spans, if tracing is on."""
    requested_starts: RequestedStarts = field(default_factory=RequestedStarts)
    """Deployments whose runs have not started yet, if tracing is on."""
    workers: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(2, "savepoint"))
    readers: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "savepoint-reader"))
    """Reads savepoints one at a time: that may take minutes, and must not delay savepoints that are to be taken."""
    probe: Probe = lambda order, secrets: ProbeResult("the other system was not contacted")
    """Tests connections and tables."""
    read_state_rows: ReadRows = lambda order: []
    drill: PlayDrill | None = None
    """Runs restore tests, if Spark is installed."""

    def changed(self, pipeline_id: str) -> None:
        """Wake the controller, and the requests that wait for the pipeline, after a change of the desired state."""
        self.wake()
        self.changes.notify(pipeline_id)
