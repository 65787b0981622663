"""Jobs: where they stand, what they have committed, what has happened to them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from sqlalchemy import Connection

from engine.api import answers
from engine.api.answers import Page
from engine.api.context import Given
from engine.api.logs import tail
from engine.errors import PipelineNotFoundError
from engine.jobs.records import Case
from engine.store import checkpoints, events, pipelines
from engine.store.records import read_case

ROUTER = APIRouter(prefix="/pipelines/{pipeline}", tags=["jobs"])

Limit = Annotated[int, Query(ge=1, le=1000)]


@ROUTER.get("/jobs")
def list_jobs(pipeline: str, given: Given) -> Page[answers.Job]:
    """The jobs of a pipeline; today it has exactly one."""
    with given.database.reading() as connection:
        return Page(data=[answers.job(read_case(connection, pipelines.get(connection, pipeline).id))])


@ROUTER.get("/jobs/{job}/checkpoints", response_model=Page[answers.Checkpoint])
def list_checkpoints(pipeline: str, job: str, given: Given, limit: Limit = 100) -> Page[answers.CommittedEpoch]:
    """The newest committed epochs, newest first."""
    with given.database.reading() as connection:
        case = _case(connection, pipeline, job)
        found = checkpoints.latest(connection, case.status.job_id, limit + 1)
    return Page(data=[answers.checkpoint(one) for one in found[:limit]], has_more=len(found) > limit)


@ROUTER.get("/jobs/{job}/errors")
def list_errors(pipeline: str, job: str, given: Given, limit: Limit = 100) -> Page[answers.LogMessage]:
    """What went wrong with a job, newest first."""
    with given.database.reading() as connection:
        case = _case(connection, pipeline, job)
        found = events.latest(connection, case.status.job_id, limit + 1, level="error")
    return Page(data=[answers.log_message(one) for one in found[:limit]], has_more=len(found) > limit)


@ROUTER.get("/events")
def list_events(pipeline: str, given: Given, limit: Limit = 100) -> Page[answers.LogMessage]:
    """Everything that happened to a pipeline, newest first."""
    with given.database.reading() as connection:
        case = read_case(connection, pipelines.get(connection, pipeline).id)
        found = events.latest(connection, case.status.job_id, limit + 1)
    return Page(data=[answers.log_message(one) for one in found[:limit]], has_more=len(found) > limit)


@ROUTER.get("/logs")
def read_log(pipeline: str, given: Given, limit: Annotated[int, Query(ge=1, le=10_000)] = 200) -> Page[str]:
    """The last lines the drivers of a pipeline have printed, oldest first."""
    with given.database.reading() as connection:
        found = pipelines.get(connection, pipeline)
    lines = tail(given.places.runs(found.id), limit + 1)
    return Page(data=lines[-limit:], has_more=len(lines) > limit)


def _case(connection: Connection, pipeline: str, job: str) -> Case:
    case = read_case(connection, pipelines.get(connection, pipeline).id)
    if case.status.job_id != job:
        raise PipelineNotFoundError(f"the pipeline has no job {job!r}")
    return case
