"""Jobs: state, checkpoints, events."""

from __future__ import annotations

from itertools import islice, zip_longest
from typing import Annotated

from fastapi import APIRouter, Query
from sqlalchemy import Connection

from engine.api import answers
from engine.api.answers import Page
from engine.api.http.depends import ContextDep
from engine.api.http.problems import refusals
from engine.control.log_tail import Cursor, read_on, tail
from engine.errors import PipelineNotFoundError
from engine.jobs.authors import JobRecord
from engine.jobs.decisions.intend import is_settled
from engine.store.jobs import checkpoints, events
from engine.store.jobs.events import EventQuery
from engine.store.jobs.records import read_page, read_record
from engine.store.pipelines.lineages import giving_up_state, is_state_given_up

ROUTER = APIRouter(prefix="/pipelines/{pipeline}", tags=["jobs"], responses=refusals(404))
ALL = APIRouter(tags=["jobs"])

Limit = Annotated[int, Query(ge=1, le=1000)]


@ROUTER.get("/jobs")
def list_jobs(pipeline: str, context: ContextDep) -> Page[answers.Job]:
    """List the jobs of a pipeline; it has exactly one."""
    with context.database.reading() as connection:
        record = read_record(connection, pipeline)
        is_given_up = is_state_given_up(connection, record)
    java = context.last_calls.shared_java(record.run)
    trouble = context.database.troubles.of(record)
    return Page(data=[answers.job(record, java, trouble, is_given_up=is_given_up)])


@ALL.get("/jobs")
def list_all_jobs(context: ContextDep) -> Page[answers.Job]:
    """List the jobs of all pipelines but previews, those of the oldest pipeline first."""
    with context.database.reading() as connection:
        records = read_page(connection, None, None, with_previews=False)
        given_up = giving_up_state(connection, records)
    java_of, trouble_of = context.last_calls.shared_java, context.database.troubles.of
    return Page(
        data=[
            answers.job(record, java_of(record.run), trouble_of(record), is_given_up=record.pipeline.id in given_up)
            for record in records
        ]
    )


@ROUTER.get("/jobs/{job}/checkpoints", response_model=Page[answers.Checkpoint])
def list_checkpoints(pipeline: str, job: str, context: ContextDep, limit: Limit = 100) -> Page[answers.CommittedEpoch]:
    """List the newest committed epochs, newest first."""
    with context.database.reading() as connection:
        record = read_job(connection, pipeline, job)
        reports = checkpoints.latest(connection, record.status.job_id, limit + 1)
    shown = zip_longest(reports, reports[1:])
    data = [answers.checkpoint(report, before) for report, before in islice(shown, limit)]
    return Page(data=data, has_more=len(reports) > limit)


@ROUTER.get("/jobs/{job}/errors")
def list_errors(
    pipeline: str,
    job: str,
    context: ContextDep,
    limit: Limit = 100,
    starting_after: Annotated[
        str | None, Query(pattern="^[0-9]{1,18}$", description="The id of the last error of the page before.")
    ] = None,
) -> Page[answers.JobLogMessage]:
    """List the errors of a job, newest first."""
    with context.database.reading() as connection:
        job_id = read_job(connection, pipeline, job).status.job_id
        before = None if starting_after is None else int(starting_after)
        errors = events.page(connection, EventQuery(job_id, before=before, severity="error"), limit + 1)
    data = [answers.job_log_message(stored.event) for stored in errors[:limit]]
    return Page(data=data, has_more=len(errors) > limit)


@ROUTER.get("/logs", responses=refusals(400))
def read_log(
    pipeline: str,
    context: ContextDep,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 200,
    after: Annotated[
        str | None, Query(max_length=64, description="The cursor of an answer before: show the lines that follow it.")
    ] = None,
) -> answers.Log:
    """Show the last log lines of a pipeline's drivers, oldest first; with `after`, the lines since then, over all
    runs."""
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


def read_job(connection: Connection, pipeline: str, job: str) -> JobRecord:
    """All that is written down of a pipeline's job; refused when it has no such job."""
    record = read_record(connection, pipeline)
    if record.status.job_id != job:
        raise PipelineNotFoundError(f"the pipeline has no job {job!r}")
    return record
