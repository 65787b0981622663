"""Pipelines: deploy, look at, change, start again, delete."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from engine.api import answers
from engine.api.answers import Page
from engine.api.context import Context, ContextDep
from engine.errors import IdempotencyConflictError, PipelineBusyError, RequestTooLargeError
from engine.jobs import desired, ids
from engine.jobs.records import JobRecord
from engine.jobs.spec import Pipeline, PlannedQuery, Spec, Version, read_run_settings
from engine.jobs.states import State, StopMode
from engine.jobs.status import Status
from engine.store import jobs, keys, pipelines, versions
from engine.store.records import read_record

ROUTER = APIRouter(prefix="/pipelines", tags=["pipelines"])

Parallelism = Annotated[int, Field(ge=1, le=1024)]
Interval = Annotated[int, Field(ge=1_000_000, le=86_400_000_000)]
IdempotencyKey = Annotated[str | None, Header(alias="Idempotency-Key", max_length=256)]
Name = Annotated[str, Field(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f/\\]+$")]


class Udf(BaseModel):
    """A user-defined function, as source text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    definition: str = Field(description="The source text.")
    language: Literal["python"] = "python"


class Deployment(BaseModel):
    """What a pipeline is to be."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    query: str = Field(min_length=1, description="The SQL text.")
    parallelism: Parallelism = Field(default=1, description="How many tasks work side by side.")
    checkpoint_interval_micros: Interval | None = Field(
        default=None,
        description="The least time from one epoch to the next; without one, epochs follow each other at once.",
    )
    udfs: tuple[str | Udf, ...] = Field(default=(), description="Files of Python functions that the query may use.")
    settings: dict[str, str] = Field(
        default={}, description="The settings of its runs: memory, master, quick, max_epoch_rows."
    )
    stop: StopMode = Field(default="none", description="How its job is to stop; `none` lets it run.")
    idempotency_key: str | None = Field(
        default=None, max_length=256, description="Makes a deployment that is sent twice happen once."
    )
    force: bool = Field(default=False, description="Whether to give up the state that another query has left.")

    def to_spec(self) -> Spec:
        """The part that makes a version."""
        micros = self.checkpoint_interval_micros
        interval = None if micros is None else timedelta(microseconds=micros)
        udfs = tuple(udf if isinstance(udf, str) else udf.definition for udf in self.udfs)
        return Spec(self.query, udfs, self.settings, interval)


class Change(BaseModel):
    """What is to change; what is left out stays as it is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    stop: StopMode | None = Field(default=None, description="How to stop, or `none` to run.")
    parallelism: Parallelism | None = Field(default=None, description="How many tasks are to work side by side.")


class RestartRequest(BaseModel):
    """How to start again; `force` gives up the current epoch."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    force: bool = Field(default=False, description="Whether to give up the current epoch.")


@ROUTER.put("/by-name/{name}", responses={201: {"model": answers.Pipeline}})
def deploy(
    name: Name, body: Deployment, response: Response, context: ContextDep, idempotency_key: IdempotencyKey = None
) -> answers.Pipeline:
    """Create the pipeline of this name, or change it into what the body says. Sent twice, it is done once."""
    if len(body.query.encode()) > context.max_query_bytes:
        raise RequestTooLargeError(
            f"the query is longer than {context.max_query_bytes} bytes",
            hint="the setting api.max_query_bytes is the limit",
        )
    read_run_settings(body.settings)  # refuses what no run would heed
    spec = body.to_spec()
    planned = context.plan(spec.query, spec.udfs)
    with context.database.writing() as connection:
        earlier = pipelines.find(connection, name)
        pipeline = earlier or _create(name, body, context)
        if earlier is None:
            response.status_code = 201
            pipelines.add(connection, pipeline)
            versions.add(connection, Version(pipeline.id, 1, spec, planned.fingerprint, planned.graph, context.clock()))
            jobs.add(connection, _new_job(pipeline, context))
        key = idempotency_key or body.idempotency_key
        if key and keys.claim(connection, "deploy", key, name, pipeline.id, context.clock()) != name:
            raise IdempotencyConflictError(
                "the idempotency key belongs to a deployment of another pipeline", hint="use a fresh key"
            )
        if earlier is not None:
            record = read_record(connection, earlier.id)
            current = versions.get(connection, earlier.id, earlier.version)
            changed, version = _redeploy(record, current, body, planned, context)
            if version is not None:
                versions.add(connection, version)
            if changed != earlier:
                pipelines.update(connection, changed)
        answer = _answer(connection, pipeline.id, context)
    context.changed(pipeline.id)
    return answer


@ROUTER.get("")
def list_all(
    context: ContextDep, starting_after: str | None = None, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Page[answers.Pipeline]:
    """List all pipelines, oldest first."""
    with context.database.reading() as connection:
        after = None if starting_after is None else pipelines.get(connection, starting_after)
        page = pipelines.page(connection, after, limit + 1)
        data = [_answer(connection, pipeline.id, context) for pipeline in page[:limit]]
    return Page(data=data, has_more=len(page) > limit)


@ROUTER.get("/{pipeline}")
def get(pipeline: str, context: ContextDep) -> answers.Pipeline:
    """Show a pipeline, by id or by name."""
    with context.database.reading() as connection:
        return _answer(connection, pipelines.get(connection, pipeline).id, context)


@ROUTER.patch("/{pipeline}")
def change(pipeline: str, body: Change, context: ContextDep) -> answers.Pipeline:
    """Stop, start or rescale a pipeline; the answer comes before it is done."""

    def apply(record: JobRecord) -> Pipeline:
        changed = record.pipeline
        if body.parallelism is not None:
            changed = desired.ask_parallelism(changed, body.parallelism)
        if body.stop is not None:
            changed = desired.ask_stop(changed, record.status, body.stop)
        return changed

    return update(context, pipeline, apply)


@ROUTER.post("/{pipeline}/restart")
def restart(pipeline: str, context: ContextDep, body: RestartRequest | None = None) -> answers.Pipeline:
    """Start a pipeline again from its last checkpoint."""
    force = body is not None and body.force
    return update(context, pipeline, lambda record: desired.ask_restart(record.pipeline, record.status, force))


@ROUTER.delete("/{pipeline}", status_code=204)
def delete(pipeline: str, context: ContextDep) -> None:
    """Delete a stopped pipeline with its state, savepoints and logs."""
    with context.database.writing() as connection:
        record = read_record(connection, pipelines.get(connection, pipeline).id)
        if not record.status.state.is_terminal:
            raise PipelineBusyError(f"pipeline {record.pipeline.name!r} is {record.status.state}", hint="stop it first")
        pipelines.remove(connection, record.pipeline)
    shutil.rmtree(context.directory.state(record.pipeline.id), ignore_errors=True)
    shutil.rmtree(context.directory.runs(record.pipeline.id), ignore_errors=True)
    context.changes.notify(record.pipeline.id)


def update(context: Context, pipeline: str, apply: Callable[[JobRecord], Pipeline]) -> answers.Pipeline:
    """Change what is desired of a pipeline, and say how it is now."""
    with context.database.writing() as connection:
        record = read_record(connection, pipelines.get(connection, pipeline).id)
        changed = apply(record)
        if changed != record.pipeline:
            pipelines.update(connection, changed)
        answer = _answer(connection, changed.id, context)
    context.changed(changed.id)
    return answer


def _answer(connection: Connection, pipeline_id: str, context: Context) -> answers.Pipeline:
    """A pipeline as the database has it now."""
    record = read_record(connection, pipeline_id)
    return answers.pipeline(record, versions.get(connection, pipeline_id, record.pipeline.version), context.directory)


def _create(name: str, body: Deployment, context: Context) -> Pipeline:
    return Pipeline(
        id=ids.make("pl"),
        name=name,
        job_id=ids.make("job"),
        version=1,
        parallelism=body.parallelism,
        created_at=context.clock(),
        stop=body.stop,
    )


def _new_job(pipeline: Pipeline, context: Context) -> Status:
    return Status(pipeline.job_id, pipeline.id, State.CREATED, context.clock(), context.clock())


def _redeploy(
    record: JobRecord, current: Version, body: Deployment, planned: PlannedQuery, context: Context
) -> tuple[Pipeline, Version | None]:
    """The pipeline after a deployment under a name that is taken, and the version it makes, if it makes one."""
    spec = body.to_spec()
    changed = desired.ask_parallelism(record.pipeline, body.parallelism)
    changed = desired.ask_stop(changed, record.status, body.stop)
    if spec.digest == current.spec.digest:
        return changed, None
    has_state = record.status.progress.epoch is not None or context.directory.has_state(changed.id)
    version = desired.next_version(current, spec, planned, context.clock(), force=body.force, has_state=has_state)
    return desired.ask_version(changed, version), version
