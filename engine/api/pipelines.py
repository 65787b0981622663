"""Pipelines: deploy, look at, change, start again, delete."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr
from sqlalchemy import Connection

from engine.api import answers
from engine.api.answers import Page
from engine.api.change_request import ChangeRequest, ChangeRequestDep, again, done, etag, kept
from engine.api.context import Context, ContextDep
from engine.errors import PipelineBusyError, RequestTooLargeError
from engine.jobs import desired, ids
from engine.jobs.records import JobRecord
from engine.jobs.spec import Pipeline, PlannedQuery, Spec, Version, read_run_settings
from engine.jobs.states import State, StopMode
from engine.jobs.status import Status
from engine.secret_references import NAME
from engine.store import jobs, pipeline_secrets, pipelines, targets, versions
from engine.store.records import read_record

ROUTER = APIRouter(prefix="/pipelines", tags=["pipelines"])

Parallelism = Annotated[int, Field(ge=1, le=1024)]
Interval = Annotated[int, Field(ge=1_000_000, le=86_400_000_000)]
Name = Annotated[str, Field(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f/\\]+$")]


def _without_null(secret: SecretStr) -> SecretStr:
    """A secret that an environment can hold."""
    if "\0" in secret.get_secret_value():
        raise ValueError("a secret has no null character")
    return secret


SecretName = Annotated[str, Field(max_length=128, pattern=rf"^{NAME}$")]
SecretValue = Annotated[SecretStr, Field(max_length=16_384), AfterValidator(_without_null)]
Secrets = Annotated[dict[SecretName, SecretValue], Field(max_length=32)]


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
    secrets: Secrets | None = Field(
        default=None,
        description="The secrets that its script names: kept encrypted, given to its drivers when they start, never "
        "shown. Left out, they stay as they are; another value alone restarts nothing.",
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


@ROUTER.put("/by-name/{name}", response_model=answers.Pipeline, responses={201: {"model": answers.Pipeline}})
def deploy(name: Name, body: Deployment, request: ChangeRequestDep, context: ContextDep) -> Response:
    """Create the pipeline of this name, or change it into what the body says. Sent twice, it is done once."""
    with context.database.reading() as connection:
        if (answer := kept(connection, context, request)) is not None:
            return again(answer)
    planned = _plan(body, context)
    with context.database.writing() as connection:
        if (answer := kept(connection, context, request)) is not None:
            return again(answer)
        earlier = pipelines.find(connection, name)
        request.check(earlier)
        if earlier is None:
            pipeline, status = _create(connection, name, body, planned, context), 201
        else:
            pipeline, status = _redeploy(connection, earlier, body, planned, context), 200
        response = done(connection, context, request, status, _answer(connection, pipeline.id, context), pipeline)
    context.changed(pipeline.id)
    return response


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
def get(pipeline: str, response: Response, context: ContextDep) -> answers.Pipeline:
    """Show a pipeline, by id or by name."""
    with context.database.reading() as connection:
        shown = pipelines.get(connection, pipeline)
        response.headers["ETag"] = etag(shown)
        return _answer(connection, shown.id, context)


@ROUTER.patch("/{pipeline}", response_model=answers.Pipeline)
def change(pipeline: str, body: Change, request: ChangeRequestDep, context: ContextDep) -> Response:
    """Stop, start or rescale a pipeline; the answer comes before it is done."""

    def apply(_: Connection, record: JobRecord) -> Pipeline:
        changed = record.pipeline
        if body.parallelism is not None:
            changed = desired.ask_parallelism(changed, body.parallelism)
        if body.stop is not None:
            changed = desired.ask_stop(changed, record.status, body.stop)
        return changed

    return update(context, request, pipeline, apply)


@ROUTER.post("/{pipeline}/restart", response_model=answers.Pipeline)
def restart(
    pipeline: str, request: ChangeRequestDep, context: ContextDep, body: RestartRequest | None = None
) -> Response:
    """Start a pipeline again from its last checkpoint."""
    force = body is not None and body.force
    return update(
        context, request, pipeline, lambda _, record: desired.ask_restart(record.pipeline, record.status, force)
    )


@ROUTER.delete("/{pipeline}", status_code=204, response_class=Response)
def delete(pipeline: str, request: ChangeRequestDep, context: ContextDep) -> Response:
    """Delete a stopped pipeline with its state, savepoints and logs."""
    with context.database.writing() as connection:
        if (answer := kept(connection, context, request)) is not None:
            return again(answer)
        record = read_record(connection, pipelines.get(connection, pipeline).id)
        request.check(record.pipeline)
        if not record.status.state.is_terminal:
            raise PipelineBusyError(f"pipeline {record.pipeline.name!r} is {record.status.state}", hint="stop it first")
        pipelines.remove(connection, record.pipeline)
        response = done(connection, context, request, 204, None)
    shutil.rmtree(context.directory.state(record.pipeline.id), ignore_errors=True)
    shutil.rmtree(context.directory.runs(record.pipeline.id), ignore_errors=True)
    context.changes.notify(record.pipeline.id)
    return response


def update(
    context: Context,
    request: ChangeRequest,
    pipeline: str,
    apply: Callable[[Connection, JobRecord], Pipeline],
    status: int = 200,
) -> Response:
    """Change what is desired of a pipeline, and say how it is now."""
    with context.database.writing() as connection:
        if (answer := kept(connection, context, request)) is not None:
            return again(answer)
        record = read_record(connection, pipelines.get(connection, pipeline).id)
        request.check(record.pipeline)
        changed = apply(connection, record)
        if changed != record.pipeline:
            changed = pipelines.update(connection, changed)
        response = done(connection, context, request, status, _answer(connection, changed.id, context), changed)
    context.changed(changed.id)
    return response


def _answer(connection: Connection, pipeline_id: str, context: Context) -> answers.Pipeline:
    """A pipeline as the database has it now."""
    record = read_record(connection, pipeline_id)
    return answers.pipeline(record, versions.get(connection, pipeline_id, record.pipeline.version), context.directory)


def _plan(body: Deployment, context: Context) -> PlannedQuery:
    """The plan of a deployment; refuses what cannot be run."""
    if len(body.query.encode()) > context.max_query_bytes:
        raise RequestTooLargeError(
            f"the query is longer than {context.max_query_bytes} bytes",
            hint="the setting api.max_query_bytes is the limit",
        )
    read_run_settings(body.settings)  # refuses what no run would heed
    spec = body.to_spec()
    return context.plan(spec.query, spec.udfs)


def _create(connection: Connection, name: str, body: Deployment, planned: PlannedQuery, context: Context) -> Pipeline:
    """A pipeline that was not there, with its first version and its job."""
    now = context.clock()
    pipeline = Pipeline(
        id=ids.make("pl"),
        name=name,
        job_id=ids.make("job"),
        version=1,
        parallelism=body.parallelism,
        created_at=now,
        stop=body.stop,
    )
    pipelines.add(connection, pipeline)
    versions.add(connection, Version(pipeline.id, 1, body.to_spec(), planned.fingerprint, planned.graph, now))
    jobs.add(connection, Status(pipeline.job_id, pipeline.id, State.CREATED, now, now))
    targets.claim(connection, pipeline.id, 1, planned.targets)
    _set_secrets(connection, pipeline, body, context)
    return pipeline


def _redeploy(
    connection: Connection, earlier: Pipeline, body: Deployment, planned: PlannedQuery, context: Context
) -> Pipeline:
    """The pipeline after a deployment under a name that is taken, with the version that it makes, if it makes one."""
    record = read_record(connection, earlier.id)
    current = versions.get(connection, earlier.id, earlier.version)
    spec = body.to_spec()
    changed = desired.ask_parallelism(earlier, body.parallelism)
    changed = desired.ask_stop(changed, record.status, body.stop)
    if spec.digest != current.spec.digest:
        has_state = record.status.progress.epoch is not None or context.directory.has_state(changed.id)
        version = desired.next_version(current, spec, planned, context.clock(), force=body.force, has_state=has_state)
        versions.add(connection, version)
        targets.claim(connection, changed.id, version.number, planned.targets)
        changed = desired.ask_version(changed, version)
    has_other_secrets = _set_secrets(connection, changed, body, context)
    return pipelines.update(connection, changed) if has_other_secrets or changed != earlier else changed


def _set_secrets(connection: Connection, pipeline: Pipeline, body: Deployment, context: Context) -> bool:
    """Let the pipeline have the secrets that it is deployed with; whether they are others than before."""
    if body.secrets is None:
        return False
    values = {name: secret.get_secret_value() for name, secret in body.secrets.items()}
    return pipeline_secrets.replace(connection, context.database.vault, pipeline.id, values)
