"""Pipelines: deploy, look at, change, start again, delete."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from engine.api import answers
from engine.api.answers import Page
from engine.api.context import Context, Given, Planned
from engine.errors import IdempotencyConflictError, PipelineBusyError, RequestTooLargeError
from engine.jobs import desired, ids
from engine.jobs.records import Case
from engine.jobs.spec import Pipeline, Spec, Version
from engine.jobs.states import State, StopMode
from engine.jobs.status import Status
from engine.store import jobs, keys, pipelines, versions
from engine.store.records import read_case

ROUTER = APIRouter(prefix="/pipelines", tags=["pipelines"])

Parallelism = Annotated[int, Field(ge=1, le=1024)]
Interval = Annotated[int, Field(ge=1_000_000, le=86_400_000_000)]
IdempotencyKey = Annotated[str | None, Header(alias="Idempotency-Key", max_length=256)]
Name = Annotated[str, Field(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f/\\]+$")]


class Udf(BaseModel):
    """A user-defined function, as source text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    definition: str
    language: Literal["python"] = "python"


class Deployment(BaseModel):
    """What a pipeline shall be."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    query: str = Field(min_length=1)
    parallelism: Parallelism = 1
    checkpoint_interval_micros: Interval | None = None
    udfs: tuple[str | Udf, ...] = ()
    settings: dict[str, str] = {}
    stop: StopMode = "none"
    idempotency_key: str | None = Field(default=None, max_length=256)
    force: bool = False

    def to_spec(self) -> Spec:
        """The part that makes a version."""
        micros = self.checkpoint_interval_micros
        interval = None if micros is None else timedelta(microseconds=micros)
        udfs = tuple(udf if isinstance(udf, str) else udf.definition for udf in self.udfs)
        return Spec(self.query, udfs, self.settings, interval)


class Change(BaseModel):
    """What shall be different; what is left out stays as it is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    stop: StopMode | None = None
    parallelism: Parallelism | None = None


class RestartRequest(BaseModel):
    """How to start again; `force` gives up the epoch in hand."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    force: bool = False


@ROUTER.put("/by-name/{name}", responses={201: {"model": answers.Pipeline}})
def deploy(
    name: Name, body: Deployment, response: Response, given: Given, idempotency_key: IdempotencyKey = None
) -> answers.Pipeline:
    """Let the pipeline of this name be as the body says. Asked twice, it is done once."""
    if len(body.query.encode()) > given.max_query_bytes:
        raise RequestTooLargeError(f"a query may have {given.max_query_bytes} bytes at most")
    desired.check_settings(body.settings)
    spec = body.to_spec()
    planned = given.plan(spec.query, spec.udfs)
    with given.database.writing() as connection:
        earlier = pipelines.find(connection, name)
        pipeline = earlier or _create(name, body, given)
        if earlier is None:
            response.status_code = 201
            pipelines.add(connection, pipeline)
            versions.add(connection, Version(pipeline.id, 1, spec, planned.fingerprint, planned.graph, given.clock()))
            jobs.add(connection, _new_job(pipeline, given))
        key = idempotency_key or body.idempotency_key
        if key and keys.claim(connection, "deploy", key, name, pipeline.id, given.clock()) != name:
            raise IdempotencyConflictError("this idempotency key was used for a pipeline of another name")
        if earlier is not None:
            case = read_case(connection, earlier.id)
            current = versions.get(connection, earlier.id, earlier.version)
            wanted, version = _redeploy(case, current, body, planned, given)
            if version is not None:
                versions.add(connection, version)
            if wanted != earlier:
                pipelines.update(connection, wanted)
        case = read_case(connection, pipeline.id)
        answer = answers.pipeline(case, versions.get(connection, pipeline.id, case.pipeline.version), given.places)
    given.changed(pipeline.id)
    return answer


@ROUTER.get("")
def list_all(
    given: Given, starting_after: str | None = None, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Page[answers.Pipeline]:
    """All pipelines, oldest first."""
    with given.database.reading() as connection:
        after = None if starting_after is None else pipelines.get(connection, starting_after)
        found = pipelines.page(connection, after, limit + 1)
        data = [
            answers.pipeline(read_case(connection, one.id), versions.get(connection, one.id, one.version), given.places)
            for one in found[:limit]
        ]
    return Page(data=data, has_more=len(found) > limit)


@ROUTER.get("/{pipeline}")
def get(pipeline: str, given: Given) -> answers.Pipeline:
    """A pipeline, by id or by name."""
    with given.database.reading() as connection:
        found = pipelines.get(connection, pipeline)
        case = read_case(connection, found.id)
        return answers.pipeline(case, versions.get(connection, found.id, found.version), given.places)


@ROUTER.patch("/{pipeline}")
def change(pipeline: str, body: Change, given: Given) -> answers.Pipeline:
    """Stop, start or rescale; the answer comes before it is done."""

    def wish(case: Case) -> Pipeline:
        wanted = case.pipeline
        if body.parallelism is not None:
            wanted = desired.ask_parallelism(wanted, body.parallelism)
        if body.stop is not None:
            wanted = desired.ask_stop(wanted, case.status, body.stop)
        return wanted

    return update(given, pipeline, wish)


@ROUTER.post("/{pipeline}/restart")
def restart(pipeline: str, given: Given, body: RestartRequest | None = None) -> answers.Pipeline:
    """Start again from the last checkpoint."""
    force = body is not None and body.force
    return update(given, pipeline, lambda case: desired.ask_restart(case.pipeline, case.status, force))


@ROUTER.delete("/{pipeline}", status_code=204)
def delete(pipeline: str, given: Given) -> None:
    """Forget a pipeline that rests, with its state, savepoints and logs."""
    with given.database.writing() as connection:
        case = read_case(connection, pipelines.get(connection, pipeline).id)
        if not case.status.state.is_terminal:
            raise PipelineBusyError(f"pipeline {case.pipeline.name!r} is {case.status.state}", hint="stop it first")
        pipelines.remove(connection, case.pipeline)
    shutil.rmtree(given.places.state(case.pipeline.id), ignore_errors=True)
    shutil.rmtree(given.places.runs(case.pipeline.id), ignore_errors=True)
    given.changes.ring(case.pipeline.id)


def update(given: Context, pipeline: str, wish: Callable[[Case], Pipeline]) -> answers.Pipeline:
    """Change what is wanted of a pipeline, and say how it is now."""
    with given.database.writing() as connection:
        case = read_case(connection, pipelines.get(connection, pipeline).id)
        wanted = wish(case)
        if wanted != case.pipeline:
            pipelines.update(connection, wanted)
        case = read_case(connection, case.pipeline.id)
        answer = answers.pipeline(case, versions.get(connection, wanted.id, wanted.version), given.places)
    given.changed(wanted.id)
    return answer


def _create(name: str, body: Deployment, given: Context) -> Pipeline:
    return Pipeline(
        id=ids.make("pl"),
        name=name,
        job_id=ids.make("job"),
        version=1,
        parallelism=body.parallelism,
        created_at=given.clock(),
        stop=body.stop,
    )


def _new_job(pipeline: Pipeline, given: Context) -> Status:
    return Status(pipeline.job_id, pipeline.id, State.CREATED, given.clock(), given.clock())


def _redeploy(
    case: Case, current: Version, body: Deployment, planned: Planned, given: Context
) -> tuple[Pipeline, Version | None]:
    """The wish after a deployment under a name that is taken, and the version it makes, if it makes one."""
    spec = body.to_spec()
    wanted = desired.ask_parallelism(case.pipeline, body.parallelism)
    wanted = desired.ask_stop(wanted, case.status, body.stop)
    if spec.digest == current.spec.digest:
        return wanted, None
    has_state = case.status.progress.epoch is not None or given.places.has_state(wanted.id)
    version = desired.next_version(
        wanted,
        current,
        spec,
        planned.fingerprint,
        planned.graph,
        given.clock(),
        force=body.force,
        has_state=has_state,
    )
    return desired.ask_version(wanted, version), version
