"""Results of waiting: the events from a trigger to a worker, stored in the database as plain JSON."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias, assert_never

from pydantic import Discriminator, TypeAdapter, ValidationError

from airflow_provider_arroyo import requests
from airflow_provider_arroyo.errors import (
    ArroyoError,
    BadConnectionError,
    BadEventError,
    DeadlineError,
    JobEndedError,
    JobMistakeError,
    RefusedError,
    UnreachableError,
)
from airflow_provider_arroyo.protocols import Conversation, ask
from airflow_provider_arroyo.responses import Job, JobState, Pipeline


def end_of(pipeline: Pipeline) -> Conversation[Ended]:
    """Return the end of a job, with the job's own message if it failed."""
    hint: str | None = None
    is_mistake = False
    match pipeline.state:
        case JobState.FAILED:
            job = yield from newest_job(pipeline)
            hint = job.failure_hint if job else None
            is_mistake = job is not None and job.failure_cause == "mistake"
            code = (job and job.failure_code) or "pipeline.failed"
            message = (job and job.failure_message) or "the job failed and did not say why"
        case JobState.FINISHED:
            code, message = "pipeline.finished", "its input has ended"
        case _:
            code, message = "pipeline.stopped", f"it was stopped by {pipeline.who_stopped_it}"
    return Ended(pipeline.name, pipeline.state, code, message, hint, is_mistake)


def newest_job(pipeline: Pipeline) -> Conversation[Job | None]:
    """Return the current job of a pipeline; None before its first."""
    jobs = yield from ask(requests.list_jobs(pipeline.id))
    current = [job for job in jobs if job.id == pipeline.job_id]
    return max(current or jobs, key=lambda job: job.run_id, default=None)


@dataclass(frozen=True, slots=True)
class Reached:
    """The condition is true."""

    pipeline: str
    state: JobState
    epoch: int | None = None
    watermark: datetime | None = None
    certificate: dict[str, Any] | None = None
    parts: dict[str, dict[str, Any]] | None = None
    """Results of a task with several gates, by name."""
    kind: Literal["reached"] = "reached"


@dataclass(frozen=True, slots=True)
class Ended:
    """The condition cannot become true: the job has reached a final state. The code is the job's own."""

    pipeline: str
    state: JobState
    code: str
    message: str
    hint: str | None = None
    is_mistake: bool = False
    """Whether somebody has to fix something before a retry can succeed."""
    kind: Literal["ended"] = "ended"


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The condition did not become true before the deadline."""

    pipeline: str
    deadline: datetime
    message: str
    kind: Literal["timed_out"] = "timed_out"


@dataclass(frozen=True, slots=True)
class Broken:
    """The control plane was unreachable, or refused the request."""

    pipeline: str
    code: str
    message: str
    hint: str | None = None
    status: int | None = None
    kind: Literal["broken"] = "broken"
    is_mistake: bool = False
    """Whether the connection has to be changed first, so that a retry would fail as well."""


ON_WORKER = {"kind": "on_worker"}
"""Event of a sensor that has to begin on a worker, which reports the error in its arguments."""

Event: TypeAlias = Reached | Ended | TimedOut | Broken


@cache
def _events() -> TypeAdapter[Event]:
    """Return the adapter, which is created for the first event: it would slow down every file that imports a task."""
    return TypeAdapter(Annotated[Event, Discriminator("kind")])


def to_json(event: Event) -> dict[str, Any]:
    """Return the event in its stored form."""
    stored: dict[str, Any] = _events().dump_python(event, mode="json")
    return stored


def from_json(stored: object) -> Event:
    """Parse a stored event; raise for anything else, including a lost event."""
    if stored is None:
        raise BadEventError("the trigger ended without an event")
    try:
        return _events().validate_python(stored)
    except ValidationError as error:
        raise BadEventError(f"not an event of this provider: {stored!r}") from error


def broken(pipeline: str, error: ArroyoError) -> Broken:
    """Return the event for an error that waiting does not resolve."""
    status = error.status if isinstance(error, RefusedError) else None
    is_mistake = isinstance(error, BadConnectionError)
    return Broken(pipeline, error.code, error.message, error.hint, status, is_mistake=is_mistake)


def settle(event: Event) -> Reached:
    """Return a successful event; raise any other as its error."""
    match event:
        case Reached():
            return event
        case Ended(pipeline, state, code, message, hint, is_mistake):
            if state is JobState.FAILED:
                advice = "When this is mended, a retry of the deploying task starts it again from its last checkpoint."
                hint = f"{hint}. {advice}" if hint else advice
            kind = JobMistakeError if is_mistake else JobEndedError
            raise kind(f"pipeline {pipeline} is {state}: {message}", code=code, hint=hint)
        case TimedOut(message=message):
            raise DeadlineError(message)
        case Broken(code=code, message=message, hint=hint, is_mistake=True):
            raise BadConnectionError(message, code=code, hint=hint)
        case Broken(_, code, message, hint, status):
            if status is None:
                raise UnreachableError(message, code=code, hint=hint)
            raise RefusedError(message, code=code, status=status, hint=hint)
        case never:
            assert_never(never)


def summary(reached: Reached) -> dict[str, Any]:
    """Return the result of a sensor."""
    if reached.parts is not None:
        return {"pipelines": reached.parts}
    watermark = reached.watermark and reached.watermark.isoformat()
    said = {"state": str(reached.state), "epoch": reached.epoch, "watermark": watermark}
    return said if reached.certificate is None else {**said, "certificate": reached.certificate}
