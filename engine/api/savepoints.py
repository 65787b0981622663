"""Savepoints: take one while the job runs, look at them, go back to one."""

from __future__ import annotations

import logging
from concurrent.futures import wait
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from engine.api import answers
from engine.api.answers import Page
from engine.api.context import Context, Given
from engine.api.pipelines import IdempotencyKey, update
from engine.errors import EngineError, PipelineBusyError, ReplayError, SavepointError
from engine.jobs import desired, ids
from engine.jobs.spec import Restore
from engine.jobs.states import State
from engine.store import keys, pipelines, savepoints
from engine.store.records import read_case
from engine.store.savepoints import Savepoint

LOG = logging.getLogger(__name__)
ROUTER = APIRouter(prefix="/pipelines/{pipeline}", tags=["savepoints"])


class SavepointRequest(BaseModel):
    """How the savepoint is to be called; the label is for people and need not be unique."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    label: str | None = Field(default=None, max_length=256)


class RestoreRequest(BaseModel):
    """Which savepoint to go back to; `allow_replay` admits that output written since is written again."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    savepoint_id: str
    allow_replay: bool = False


@ROUTER.post("/savepoints", status_code=202, responses={201: {"model": answers.Savepoint}})
def take(
    pipeline: str,
    response: Response,
    given: Given,
    body: SavepointRequest | None = None,
    idempotency_key: IdempotencyKey = None,
) -> answers.Savepoint:
    """Keep a copy of the newest checkpoint. The job runs on. 201 when it is settled, 202 while it is being taken."""
    label = None if body is None else body.label
    with given.database.writing() as connection:
        case = read_case(connection, pipelines.get(connection, pipeline).id)
        fresh = Savepoint(ids.make("sp"), case.pipeline.id, label, given.clock())
        found = fresh.id
        if idempotency_key:
            scope = f"savepoint {case.pipeline.id}"
            found = keys.claim(connection, scope, idempotency_key, fresh.id, case.pipeline.id, given.clock())
        if found == fresh.id:
            if case.status.state is State.RESCALING or case.pipeline.restore is not None:
                raise PipelineBusyError(
                    f"the state of pipeline {case.pipeline.name!r} is being changed", hint="ask again"
                )
            savepoints.add(connection, fresh)
    if found == fresh.id:
        wait([given.workers.submit(work, given, fresh)], given.settle_wait.total_seconds())
    with given.database.reading() as connection:
        settled = savepoints.get(connection, case.pipeline.id, found)
    response.status_code = 202 if settled.state == "pending" else 201
    return answers.savepoint(settled, given.places)


@ROUTER.get("/savepoints")
def list_all(pipeline: str, given: Given, limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> Page[answers.Savepoint]:
    """The savepoints of a pipeline, newest first."""
    with given.database.reading() as connection:
        found = savepoints.page(connection, pipelines.get(connection, pipeline).id, limit + 1)
    return Page(data=[answers.savepoint(one, given.places) for one in found[:limit]], has_more=len(found) > limit)


@ROUTER.get("/savepoints/{savepoint}")
def get(pipeline: str, savepoint: str, given: Given) -> answers.Savepoint:
    """A savepoint, by id."""
    with given.database.reading() as connection:
        found = savepoints.get(connection, pipelines.get(connection, pipeline).id, savepoint)
    return answers.savepoint(found, given.places)


@ROUTER.post("/restore", status_code=202)
def restore(pipeline: str, body: RestoreRequest, given: Given) -> answers.Pipeline:
    """Go back to a savepoint. A running job is stopped first and then runs on from there."""
    with given.database.reading() as connection:
        case = read_case(connection, pipelines.get(connection, pipeline).id)
        found = savepoints.get(connection, case.pipeline.id, body.savepoint_id)
    if found.state != "completed" or found.parallelism is None:
        raise SavepointError(f"savepoint {found.id} is {found.state}", hint="only a completed one can be restored")
    reached = case.status.progress.epoch
    if not body.allow_replay and reached is not None and found.epoch is not None and reached > found.epoch:
        raise ReplayError(
            f"pipeline {case.pipeline.name!r} has gone on to epoch {reached} since epoch {found.epoch}",
            hint="allow_replay admits that sinks which cannot go back get some output twice",
        )
    wish = Restore(found.id, found.parallelism, body.allow_replay)
    return update(given, pipeline, lambda case: desired.ask_restore(case.pipeline, wish))


def work(given: Context, savepoint: Savepoint) -> None:
    """Take a savepoint and write down what came of it."""
    try:
        taken = given.take(given.places.state(savepoint.pipeline_id), savepoint.id, savepoint.label)
        settled = replace(
            savepoint,
            state="completed",
            epoch=taken.epoch,
            watermark=taken.watermark,
            parallelism=taken.parallelism,
            bytes=taken.bytes,
        )
    except EngineError as refused:
        settled = replace(savepoint, state="failed", failure_message=refused.message)
    except Exception as bug:
        LOG.exception("savepoint %s", savepoint.id)
        settled = replace(savepoint, state="failed", failure_message=f"{type(bug).__name__}: {bug}")
    with given.database.writing() as connection:
        savepoints.settle(connection, settled)
    given.changes.ring(savepoint.pipeline_id)


def resume(given: Context) -> None:
    """Take those savepoints again that a control plane before this one has not settled."""
    with given.database.reading() as connection:
        found = savepoints.pending(connection)
    for savepoint in found:
        given.workers.submit(work, given, savepoint)
