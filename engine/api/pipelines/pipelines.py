"""Show, change and restart pipelines, and name their secrets, whose values are never shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from engine.api import answers
from engine.api.answers import Page, micros
from engine.api.http.bodies import Body, Tags
from engine.api.http.change_request import (
    ChangeRequest,
    ChangeRequestDep,
    DryRun,
    again,
    earlier_answer,
    etag,
    note,
    note_asking_run,
    record_answer,
    rehearse,
)
from engine.api.http.problems import ContextDep, refusals
from engine.control.context import Context
from engine.control.preview_room import is_preview, refuse_preview_again
from engine.control.upgrades.auto_rollback import reasons_not_undone
from engine.delivery.faults import reach
from engine.errors import UnsupportedRequestError
from engine.jobs.actors import JobRecord
from engine.jobs.decisions import intend
from engine.jobs.decisions.spec import Pipeline, StopRequest
from engine.jobs.decisions.states import StopMode
from engine.jobs.fault_points import ControlPoint
from engine.store.jobs.records import read_record, read_version
from engine.store.pipelines import pipeline_secrets, pipelines, versions
from engine.store.pipelines.lineages import is_state_given_up, voided_by_request
from engine.values.cluster import MAX_PARALLELISM

ROUTER = APIRouter(prefix="/pipelines", tags=["pipelines"])

Parallelism = Annotated[int, Field(ge=1, le=MAX_PARALLELISM)]
Interval = Annotated[int, Field(ge=1_000_000, le=86_400_000_000)]


class JobSurroundings(Body):
    """Arroyo's job settings without an equivalent here; only empty values are accepted."""

    env_vars: dict[str, str] | None = Field(default=None, description="Must be empty: a job has no environment.")
    scheduler_config: dict[str, Any] | None = Field(default=None, description="Must be empty: there is no scheduler.")

    def refuse_unsupported(self) -> None:
        """Refuse unsupported fields."""
        if self.env_vars:
            raise UnsupportedRequestError(
                "a pipeline has no environment variables of its own",
                hint="secrets and variables of the control plane can be named in the script",
            )
        if self.scheduler_config:
            raise UnsupportedRequestError(
                "there is no scheduler to configure", hint="`settings` of a deployment have the memory and the master"
            )


class Change(JobSurroundings):
    """Settings to change; omitted ones are unchanged."""

    stop: StopMode | None = Field(default=None, description="How to stop, or `none` to run.")
    parallelism: Parallelism | None = Field(default=None, description="How many tasks are to run in parallel.")
    checkpoint_interval_micros: Interval | None = Field(
        default=None,
        description="The least time from one epoch to the next; with null, epochs follow each other at once. Another "
        "one makes a version.",
    )
    tags: Tags | None = Field(
        default=None, description="Its labels, all of them. They group pipelines in lists; no run depends on them."
    )


class RestartRequest(Body):
    """Options of a restart; `force` aborts the current epoch."""

    force: bool | None = Field(default=False, description="Whether to give up the current epoch.")
    ignore_state: bool | None = Field(
        default=False, description="Must not be true: a restart keeps the state. A deployment with `force` gives it up."
    )


@ROUTER.get("/{pipeline}", responses=refusals(404))
def get(pipeline: str, response: Response, context: ContextDep) -> answers.Pipeline:
    """Show a pipeline, by id or by name."""
    with context.database.reading() as connection:
        record = read_record(connection, pipeline)
        response.headers["ETag"] = etag(record.pipeline)
        return show_record(connection, record, context)


@ROUTER.patch("/{pipeline}", response_model=answers.Pipeline | answers.Effects, responses=refusals(400, 404, 409, 412))
def change(
    pipeline: str, body: Change, request: ChangeRequestDep, context: ContextDep, dry_run: DryRun = False
) -> Response:
    """Stop, start or rescale a pipeline. The response does not wait for the result."""

    body.refuse_unsupported()

    def apply(connection: Connection, record: JobRecord) -> Pipeline:
        changed = record.pipeline
        if "checkpoint_interval_micros" in body.model_fields_set:
            changed = _with_interval(connection, changed, body.checkpoint_interval_micros, context)
        if body.parallelism is not None:
            changed = intend.ask_parallelism(changed, body.parallelism)
        if body.tags is not None:
            changed = intend.ask_tags(changed, body.tags)
        if body.stop is not None:
            by = StopRequest(request.caller, context.clock())
            changed = intend.ask_stop(changed, record.status, body.stop, by)
        return changed

    return update(context, request, pipeline, apply, dry_run=dry_run)


@ROUTER.post(
    "/{pipeline}/restart", response_model=answers.Pipeline | answers.Effects, responses=refusals(400, 404, 409, 412)
)
def restart(
    pipeline: str,
    request: ChangeRequestDep,
    context: ContextDep,
    body: RestartRequest | None = None,
    dry_run: DryRun = False,
) -> Response:
    """Restart a pipeline from its last checkpoint."""
    if body is not None and body.ignore_state:
        raise UnsupportedRequestError(
            "a restart keeps the state of its pipeline",
            hint="deploy the pipeline with `force` to give its state up, or under another name",
        )
    force = body is not None and bool(body.force)
    return update(
        context,
        request,
        pipeline,
        lambda _, record: intend.ask_restart(record.pipeline, record.status, force),
        dry_run=dry_run,
    )


def _with_interval(connection: Connection, pipeline: Pipeline, micros: int | None, context: Context) -> Pipeline:
    """Return the pipeline with another checkpoint interval, which makes a version; the same interval changes
    nothing."""
    current = read_version(connection, pipeline.id, pipeline.version)
    interval = None if micros is None else timedelta(microseconds=micros)
    if interval == current.spec.checkpoint_interval:
        return pipeline
    version = intend.other_interval(current, interval, context.clock())
    versions.add(connection, version)
    versions.pass_on(connection, pipeline.id, current.number, version.number)
    return intend.ask_version(pipeline, version)


def update(
    context: Context,
    request: ChangeRequest,
    pipeline: str,
    apply: Callable[[Connection, JobRecord], Pipeline],
    status: int = 200,
    *,
    dry_run: bool = False,
) -> Response:
    """Change the desired state of a pipeline, and return the pipeline; with `dry_run` only describe the effects."""

    def make(connection: Connection) -> tuple[JobRecord, Pipeline]:
        record = read_record(connection, pipeline)
        request.check(record.pipeline)
        changed = apply(connection, record)
        if changed != record.pipeline:
            refuse_preview_again(connection, record, changed, context)
            changed = pipelines.update(connection, replace(changed, asked_by=request.who))
            note(connection, context, request, changed.job_id, intend.describe_change(record.pipeline, changed))
            note_asking_run(connection, context, request, changed)
        return record, changed

    if dry_run:
        return rehearse(context, make)
    with context.database.writing() as connection:
        if (answer := earlier_answer(connection, context, request)) is not None:
            return again(answer)
        _, changed = make(connection)
        response = record_answer(connection, context, request, status, show(connection, changed.id, context), changed)
    reach(ControlPoint.AFTER_CHANGE)
    context.changed(changed.id)
    return response


def show(connection: Connection, pipeline_id: str, context: Context) -> answers.Pipeline:
    """Return the current pipeline from the database."""
    return show_record(connection, read_record(connection, pipeline_id), context)


def show_record(connection: Connection, record: JobRecord, context: Context) -> answers.Pipeline:
    """Return a pipeline from its record."""
    version = versions.get(connection, record.pipeline.id, record.pipeline.version)
    return answers.pipeline(
        record,
        version,
        context.directory,
        voided_by_request(connection, record, context.directory),
        is_given_up=is_state_given_up(connection, record),
        not_undone=reasons_not_undone(connection, [record]).get(record.pipeline.id),
        is_preview=is_preview(connection, record.pipeline),
    )


SECRETS_ROUTER = APIRouter(prefix="/pipelines/{pipeline}/secrets", tags=["pipelines"], responses=refusals(404))


class Secret(BaseModel):
    """A secret that a pipeline was deployed with; its value is never shown."""

    name: str = Field(description="By which its script names it.")
    set_at: int | None = Field(description="When it was given this value; null of what was set before that was noted.")


@SECRETS_ROUTER.get("")
def list_all(pipeline: str, context: ContextDep) -> Page[Secret]:
    """List the names of a pipeline's secrets, in order."""
    with context.database.reading() as connection:
        times = pipeline_secrets.times(connection, pipelines.get(connection, pipeline).id)
    return Page(data=[Secret(name=name, set_at=micros(at)) for name, at in times.items()])
