"""What is known of a job and its runs; written down before anything is done about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from engine.errors import Cause, EngineError, cause_of
from engine.jobs.decisions.states import State
from engine.values.epoch_report import EpochReport, SinkProgress

_FATAL = frozenset({"sql", "option", "state", "delivery", "data", "udf", "setting"})
"""Families of error codes that another try does not help, for drivers that do not say what is behind an error."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why something failed; `code` is the engine's. `declared_cause` is None where a driver of an earlier version has
    met it."""

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
    """The failure that an error is."""
    return Failure(error.code, error.message, error.hint, cause_of(error))


def read_cause(text: object) -> Cause | None:
    """A cause that was sent or stored; None when there is none, or one that only a later version knows."""
    return next((cause for cause in Cause if cause == text), None)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job has come: its newest committed epoch and the watermark of what it has written. It is that of one
    history of the state, the `lineage`; another one begins without any."""

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
    """Where a job stands. `version` and `parallelism` are those of its newest run; None before the first."""

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
    """How many of the pipeline's explicit requests to start again have been met."""
    failures: int = 0
    """Failures in a row since the last healthy run, outages not among them."""
    outages: int = 0
    """Outages in a row since the last healthy run."""
    failure_times: tuple[datetime, ...] = ()
    """When it failed of unknown causes, healthy runs in between or not; those that no longer count are forgotten."""
    restarts: int = 0
    """How often it was started again after a failure, in all."""
    restart_code: str | None = None
    """The code of the failure after which it was last started again."""
    retry_at: datetime | None = None
    running_since: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    failure: Failure | None = None
    progress: Progress = Progress()
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Goodbye:
    """A driver's last word: `finished`, `stopped` or `failed`."""

    outcome: str
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One driver process. `key_hash` is the hash of the secret it shows; `ended_at` is set once it is surely gone."""

    job_id: str
    pipeline_id: str
    generation: int
    key_hash: str
    version: int
    parallelism: int
    launched_at: datetime
    pid: int | None = None
    born: str | None = None
    """What tells this process from a later one with the same pid."""
    hello_at: datetime | None = None
    running_at: datetime | None = None
    step: str | None = None
    """What its start is at."""
    ended_at: datetime | None = None
    goodbye: Goodbye | None = None
    wire: int | None = None
    """The version of what it says; None until it has told a control plane that asks."""


@dataclass(frozen=True, slots=True)
class JobEvent:
    """Something that happened to a job, for its owner to read."""

    job_id: str
    at: datetime
    level: str
    message: str
    code: str | None = None
    hint: str | None = None
    generation: int | None = None
    id: int | None = None
    who: str | None = None
    """The name of the token that asked for it, or `control plane` for what nobody has asked for."""
    requested_by: str | None = None
    """On whose behalf, as the request has named it."""
