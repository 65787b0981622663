"""What the API answers: one model for each kind of thing, and how it is made from the records."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, Field, create_model

from engine.epoch_report import FIGURES, EpochReport, to_wire
from engine.instants import FAR_FUTURE, to_micros
from engine.jobs.data_directory import DataDirectory
from engine.jobs.records import JobRecord
from engine.jobs.spec import Version
from engine.jobs.states import STATES, State, StopMode
from engine.jobs.status import JobEvent
from engine.store.savepoints import Savepoint as StoredSavepoint

T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    """Some of a list, and whether there is more."""

    data: list[T]
    has_more: bool = False


class Pipeline(BaseModel):
    """A pipeline, and where its job stands."""

    id: str
    name: str
    query: str
    version: int
    udfs: list[str]
    settings: dict[str, str]
    parallelism: int
    checkpoint_interval_micros: int | None
    stop: StopMode
    created_at: int
    state: State
    action: StopMode | None
    action_text: str
    action_in_progress: bool
    graph: dict[str, Any]
    fingerprint: str
    digest: str
    job_id: str
    state_dir: str


class Job(BaseModel):
    """One life of a pipeline on the control plane."""

    id: str
    pipeline_id: str
    running_desired: bool
    state: State
    run_id: int
    start_time: int | None
    finish_time: int | None
    tasks: int | None
    failure_message: str | None
    failure_code: str | None
    failure_hint: str | None
    restarts: int
    watermark: int | None
    epoch: int | None
    created_at: int


class CommittedEpoch(BaseModel):
    """What an answer says of a committed epoch beside its figures."""

    epoch: int
    backend: str = "spark"
    checkpoint_type: str = "scheduled"
    start_time: int
    finish_time: int
    events: list[dict[str, Any]] = []


_FIGURES: dict[str, Any] = {
    declared.name: (declared.annotation, Field(description=declared.figure.meaning))
    for declared in FIGURES
    if declared.name in declared.shown_as
}
Checkpoint = create_model("Checkpoint", __base__=CommittedEpoch, __doc__="A committed epoch.", **_FIGURES)
"""A committed epoch with all its figures."""


class Savepoint(BaseModel):
    """A kept copy of a checkpoint."""

    id: str
    pipeline_id: str
    label: str | None
    state: Literal["pending", "completed", "failed"]
    epoch: int | None
    watermark: int | None
    parallelism: int | None
    path: str
    bytes: int | None
    created_at: int
    failure_message: str | None


class Watermark(BaseModel):
    """How far the committed output of a pipeline is complete; `passed` answers the instant that was asked about."""

    watermark: int | None
    epoch: int | None
    passed: bool | None
    state: State
    sources: dict[str, int | None]


class LogMessage(BaseModel):
    """Something that happened to a job."""

    id: int
    created_at: int
    level: str
    message: str
    code: str | None
    details: str | None
    run_id: int | None


class Ping(BaseModel):
    """Who answers at this address."""

    pong: bool = True
    version: str
    instance: str


def pipeline(record: JobRecord, version: Version, directory: DataDirectory) -> Pipeline:
    """A pipeline as it is now; the query is the newest version's, which may not run yet."""
    desired, status = record.pipeline, record.status
    meaning = STATES[status.state]
    interval = version.spec.checkpoint_interval
    return Pipeline(
        id=desired.id,
        name=desired.name,
        query=version.spec.query,
        version=desired.version,
        udfs=list(version.spec.udfs),
        settings=dict(version.spec.settings),
        parallelism=desired.parallelism,
        checkpoint_interval_micros=None if interval is None else int(interval.total_seconds() * 1_000_000),
        stop=desired.stop,
        created_at=to_micros(desired.created_at),
        state=status.state,
        action=meaning.next_stop,
        action_text=meaning.action_text,
        action_in_progress=meaning.in_progress,
        graph=json.loads(version.graph),
        fingerprint=version.fingerprint,
        digest=version.spec.digest,
        job_id=desired.job_id,
        state_dir=str(directory.state(desired.id)),
    )


def job(record: JobRecord) -> Job:
    """The job of a pipeline."""
    status = record.status
    return Job(
        id=status.job_id,
        pipeline_id=status.pipeline_id,
        running_desired=record.pipeline.stop == "none" and not status.state.is_terminal,
        state=status.state,
        run_id=status.generation,
        start_time=micros(status.started_at),
        finish_time=micros(status.finished_at),
        tasks=status.parallelism,
        failure_message=status.failure and status.failure.message,
        failure_code=status.failure and status.failure.code,
        failure_hint=status.failure and status.failure.hint,
        restarts=status.failures,
        watermark=micros(status.progress.watermark),
        epoch=status.progress.epoch,
        created_at=to_micros(status.created_at),
    )


def checkpoint(report: EpochReport) -> CommittedEpoch:
    """A committed epoch."""
    start, finish = to_micros(report.at - report.duration), to_micros(report.at)
    return Checkpoint.model_validate({**to_wire(report), "start_time": start, "finish_time": finish})


def savepoint(stored: StoredSavepoint, directory: DataDirectory) -> Savepoint:
    """A savepoint as the control plane knows it."""
    return Savepoint(
        id=stored.id,
        pipeline_id=stored.pipeline_id,
        label=stored.label,
        state=stored.state,
        epoch=stored.epoch,
        watermark=micros(stored.watermark),
        parallelism=stored.parallelism,
        path=str(directory.savepoint(stored.pipeline_id, stored.id)),
        bytes=stored.bytes,
        created_at=to_micros(stored.created_at),
        failure_message=stored.failure_message,
    )


def watermark(record: JobRecord, past: datetime | None) -> Watermark:
    """How far the output is complete. That of a finished job lies in the far future."""
    status = record.status
    reached = FAR_FUTURE if status.state is State.FINISHED else status.progress.watermark
    return Watermark(
        watermark=micros(reached),
        epoch=status.progress.epoch,
        passed=None if past is None else reached is not None and reached >= past,
        state=status.state,
        sources=sources(status.progress.sources),
    )


def log_message(event: JobEvent) -> LogMessage:
    """An event of a job."""
    return LogMessage(
        id=event.id or 0,
        created_at=to_micros(event.at),
        level=event.level,
        message=event.message,
        code=event.code,
        details=event.hint,
        run_id=event.generation,
    )


def sources(watermarks: Mapping[str, datetime | None]) -> dict[str, int | None]:
    """The watermark of each source table."""
    return {name: micros(at) for name, at in watermarks.items()}


def micros(instant: datetime | None) -> int | None:
    """Microseconds since 1970, or nothing."""
    return None if instant is None else to_micros(instant)
