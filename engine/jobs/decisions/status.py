"""Status of a job and its runs, stored before an action, and the commands to its driver that follow from it.

They follow from the job's state, so they are repeated until obeyed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from engine.errors import Cause, EngineError, cause_of
from engine.jobs.decisions.states import State, StopMode
from engine.values.epoch_report import EpochReport, SinkProgress

_FATAL = frozenset({"sql", "option", "state", "delivery", "data", "udf", "setting"})
"""Families of error codes for which a retry is useless, for drivers that do not report the cause of an error."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure; `code` is the engine's. `declared_cause` is None if a driver of an earlier version has reported it."""

    code: str
    message: str
    hint: str | None = None
    declared_cause: Cause | None = None

    @property
    def cause(self) -> Cause:
        """Return the cause of the failure, which decides the next step."""
        if self.declared_cause is not None:
            return self.declared_cause
        return Cause.MISTAKE if self.code.partition(".")[0] in _FATAL else Cause.UNKNOWN


def failure_of(error: EngineError) -> Failure:
    """Return the failure for an error."""
    return Failure(error.code, error.message, error.hint, cause_of(error))


def read_cause(text: object) -> Cause | None:
    """Return a cause that was sent or stored; None if there is none, or one that only a later version knows."""
    return next((cause for cause in Cause if cause == text), None)


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a job: its newest committed epoch and the watermark of its output, in one `lineage` of the state;
    another lineage starts without any."""

    epoch: int | None = None
    watermark: datetime | None = None
    sources: Mapping[str, datetime | None] = field(default_factory=dict)
    lineage: str | None = None
    sinks: Mapping[str, SinkProgress] = field(default_factory=dict)


def advanced(before: Progress, report: EpochReport) -> Progress:
    """Return the progress after another epoch. An unknown watermark, as right after a start, keeps the previous one."""
    return Progress(
        report.epoch,
        report.watermark or before.watermark,
        report.source_watermarks,
        report.lineage or before.lineage,
        report.sinks,
    )


@dataclass(frozen=True, slots=True)
class Status:
    """Status of a job. `version` and `parallelism` are those of its newest run; None before the first."""

    job_id: str
    pipeline_id: str
    state: State
    since: datetime
    """When it entered this state."""
    created_at: datetime
    generation: int = 0
    version: int | None = None
    parallelism: int | None = None
    restarts_done: int = 0
    """Number of explicit restart requests that have been executed."""
    failures: int = 0
    """Consecutive failures since the last healthy run, without outages."""
    outages: int = 0
    """Consecutive outages since the last healthy run."""
    failure_times: tuple[datetime, ...] = ()
    """Times of failures with unknown causes, regardless of healthy runs in between, as far as they still count."""
    restarts: int = 0
    """Total number of restarts after a failure."""
    restart_code: str | None = None
    """Code of the failure before the last restart."""
    retry_at: datetime | None = None
    running_since: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    failure: Failure | None = None
    progress: Progress = Progress()
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Goodbye:
    """Exit message of a driver: `finished`, `stopped` or `failed`."""

    outcome: str
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One driver process. `key_hash` is the hash of its secret; `ended_at` is set once it is certainly gone."""

    job_id: str
    pipeline_id: str
    generation: int
    key_hash: str
    version: int
    parallelism: int
    launched_at: datetime
    pid: int | None = None
    born: str | None = None
    """Distinguishes this process from a later one with the same pid."""
    hello_at: datetime | None = None
    running_at: datetime | None = None
    step: str | None = None
    """Step of its start."""
    ended_at: datetime | None = None
    goodbye: Goodbye | None = None
    wire: int | None = None
    """Protocol version of its reports; None until it has reported it."""


@dataclass(frozen=True, slots=True)
class JobEvent:
    """An event of a job, for its owner."""

    job_id: str
    at: datetime
    level: str
    message: str
    code: str | None = None
    hint: str | None = None
    generation: int | None = None
    id: int | None = None
    who: str | None = None
    """Name of the requesting token, or `control plane`."""
    requested_by: str | None = None
    """On whose behalf, according to the request."""


@dataclass(frozen=True, slots=True)
class Order:
    """Command to stop: after all read rows are output, after the current epoch, or immediately."""

    mode: Literal["graceful", "checkpoint", "immediate"]


def orders(status: Status, stop: StopMode) -> tuple[Order, ...]:
    """Return the commands for the newest run of a job in this state, with this desired stop."""
    match status.state:
        case State.CHECKPOINT_STOPPING if stop == "graceful":
            return (Order("graceful"),)
        case State.CHECKPOINT_STOPPING | State.RESCALING:
            return (Order("checkpoint"),)
        case State.STOPPING | State.RECOVERING:
            return (Order("immediate"),)
    return ()
