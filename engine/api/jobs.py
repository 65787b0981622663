"""Jobs: where they stand, what they have committed, what has happened to them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from sqlalchemy import Connection

from engine.api import answers
from engine.api.answers import Page
from engine.api.context import ContextDep
from engine.api.log_tail import Cursor, read_on, tail
from engine.api.problems import refusals
from engine.errors import PipelineNotFoundError
from engine.jobs.desired import is_settled
from engine.jobs.records import JobRecord
from engine.store import checkpoints, events
from engine.store.lineages import is_state_given_up
from engine.store.records import read_record

ROUTER = APIRouter(prefix="/pipelines/{pipeline}", tags=["jobs"], responses=refusals(404))

Limit = Annotated[int, Query(ge=1, le=1000)]


@ROUTER.get("/jobs")
def list_jobs(pipeline: str, context: ContextDep) -> Page[answers.Job]:
    """List the jobs of a pipeline; it has exactly one."""
    with context.database.reading() as connection:
        record = read_record(connection, pipeline)
        return Page(data=[answers.job(record, is_given_up=is_state_given_up(connection, record))])


@ROUTER.get("/jobs/{job}/checkpoints", response_model=Page[answers.Checkpoint])
def list_checkpoints(pipeline: str, job: str, context: ContextDep, limit: Limit = 100) -> Page[answers.CommittedEpoch]:
    """List the newest committed epochs, newest first."""
    with context.database.reading() as connection:
        record = _record(connection, pipeline, job)
        reports = checkpoints.latest(connection, record.status.job_id, limit + 1)
    return Page(data=[answers.checkpoint(report) for report in reports[:limit]], has_more=len(reports) > limit)


@ROUTER.get("/jobs/{job}/errors")
def list_errors(pipeline: str, job: str, context: ContextDep, limit: Limit = 100) -> Page[answers.LogMessage]:
    """List what went wrong with a job, newest first."""
    with context.database.reading() as connection:
        record = _record(connection, pipeline, job)
        errors = events.latest(connection, record.status.job_id, limit + 1, level="error")
    return Page(data=[answers.log_message(event) for event in errors[:limit]], has_more=len(errors) > limit)


@ROUTER.get("/logs", responses=refusals(400))
def read_log(
    pipeline: str,
    context: ContextDep,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 200,
    after: Annotated[
        str | None, Query(max_length=64, description="The cursor of an answer before: show the lines that follow it.")
    ] = None,
) -> answers.Log:
    """Show the last lines that the drivers of a pipeline have printed, oldest first; with `after`, those that have come
    since, over as many runs as there were."""
    with context.database.reading() as connection:
        # before the files: what a job at rest has printed is all there
        record = read_record(connection, pipeline)
    is_at_rest = record.status.state.is_terminal and is_settled(record.pipeline, record.status)
    runs = context.directory.runs(record.pipeline.id)
    if after is None:
        lines, cursor = tail(runs, limit + 1, is_at_rest=is_at_rest)
        return answers.Log(data=lines[-limit:], has_more=len(lines) > limit, cursor=str(cursor), over=is_at_rest)
    piece = read_on(runs, Cursor.read(after), limit, is_at_rest=is_at_rest)
    over = is_at_rest and not piece.has_more
    return answers.Log(data=piece.lines, has_more=piece.has_more, cursor=str(piece.cursor), over=over)


def _record(connection: Connection, pipeline: str, job: str) -> JobRecord:
    record = read_record(connection, pipeline)
    if record.status.job_id != job:
        raise PipelineNotFoundError(f"the pipeline has no job {job!r}")
    return record
