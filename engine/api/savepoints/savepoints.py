"""Savepoints: take one while the job runs, show them, restore one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import wait
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse
from pydantic import Field
from sqlalchemy import Connection

from engine.api import answers
from engine.api.answers import Page
from engine.api.http.bodies import Body
from engine.api.http.change_request import (
    ChangeRequest,
    ChangeRequestDep,
    DryRun,
    again,
    answer_with,
    earlier_answer,
    effects_between,
    note,
    record_answer,
)
from engine.api.http.problems import ContextDep, refusals
from engine.api.pipelines.pipelines import update
from engine.control.context import Context
from engine.control.savepoints.savepoint_removal import finish, refuse_needed
from engine.control.savepoints.take_savepoints import take_due
from engine.control.upgrades.plan_restore import plan_restore
from engine.delivery.faults import reach
from engine.errors import PipelineBusyError
from engine.jobs import disk
from engine.jobs.actors import JobRecord
from engine.jobs.decisions import intend
from engine.jobs.decisions.effects import with_savepoint
from engine.jobs.decisions.spec import Pipeline, StopRequest
from engine.jobs.decisions.states import State, StopMode
from engine.jobs.fault_points import ControlPoint
from engine.store import savepoints
from engine.store.access.keys import KeptAnswer
from engine.store.jobs.records import read_record
from engine.store.pipelines import pipelines
from engine.store.savepoints import Savepoint

ROUTER = APIRouter(prefix="/pipelines/{pipeline}", tags=["savepoints"], responses=refusals(404))


class SavepointRequest(Body):
    """Label and owner of the savepoint, for people; they need not be unique."""

    label: str | None = Field(default=None, max_length=256, description="What to call it.")
    creator: str | None = Field(default=None, max_length=256, description="Who asks for it.")
    reason: str | None = Field(default=None, max_length=1024, description="What it is taken for.")
    stop: StopMode = Field(
        default="none",
        description="How the job is to stop: the savepoint is then of its last epoch. `none` lets it run on.",
    )


class RestoreRequest(Body):
    """Savepoint to restore; `allow_replay` accepts that later output may be written again, and `with_version` also
    restores the query of the savepoint."""

    savepoint_id: str = Field(description="The savepoint.")
    allow_replay: bool = Field(default=False, description="Whether output may be written again.")
    with_version: bool = Field(default=False, description="Whether the savepoint's query comes back with it.")


@ROUTER.post(
    "/savepoints",
    status_code=202,
    response_model=answers.Savepoint,
    responses={200: {"model": answers.Effects}, 201: {"model": answers.Savepoint}, **refusals(400, 409, 412)},
)
def take(
    pipeline: str,
    request: ChangeRequestDep,
    context: ContextDep,
    body: SavepointRequest | None = None,
    dry_run: DryRun = False,
) -> Response:
    """Take a savepoint: a copy of the newest checkpoint. The job keeps running, or stops first if the body asks for it;
    then no epoch follows the savepoint. The status is 201 if the savepoint has completed or failed, and 202 while it is
    being taken."""
    details = body or SavepointRequest()
    if dry_run:
        return _rehearse(context, request, pipeline, details.stop)
    with context.database.writing() as connection:
        if (answer := earlier_answer(connection, context, request)) is not None:
            return _again(connection, context, answer)
        record = _record(connection, request, pipeline)
        fresh = Savepoint(
            disk.make("sp"),
            record.pipeline.id,
            details.label,
            context.clock(),
            creator=details.creator or request.caller,
            reason=details.reason,
            after_stop=details.stop != "none",
        )
        savepoints.add(connection, fresh)
        note(connection, context, request, record.pipeline.job_id, f"savepoint {fresh.id} requested")
        if fresh.after_stop:
            stopped = _stopped(context, request, record, details.stop)
            if stopped != record.pipeline:
                pipelines.update(connection, replace(stopped, asked_by=request.who))
                words = intend.describe_change(record.pipeline, stopped)
                note(connection, context, request, stopped.job_id, words)
        record_answer(connection, context, request, 202, answers.savepoint(fresh, context.directory))
    reach(ControlPoint.AFTER_CHANGE)
    if fresh.after_stop:
        context.changed(record.pipeline.id)
    wait(take_due(context, record.pipeline.id), context.settle_wait.total_seconds())
    with context.database.reading() as connection:
        return _as_it_is(savepoints.get(connection, record.pipeline.id, fresh.id), context)


@ROUTER.get("/savepoints")
def list_all(
    pipeline: str, context: ContextDep, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Page[answers.Savepoint]:
    """List the savepoints of a pipeline, newest first."""
    with context.database.reading() as connection:
        page = savepoints.page(connection, pipelines.get(connection, pipeline).id, limit + 1)
    data = [answers.savepoint(stored, context.directory) for stored in page[:limit]]
    return Page(data=data, has_more=len(page) > limit)


@ROUTER.get("/savepoints/{savepoint}")
def get(pipeline: str, savepoint: str, context: ContextDep) -> answers.Savepoint:
    """Show a savepoint, by id."""
    with context.database.reading() as connection:
        stored = savepoints.get(connection, pipelines.get(connection, pipeline).id, savepoint)
    return answers.savepoint(stored, context.directory, context.holds.tasks.get(stored.id))


class SavepointChange(Body):
    """Pin of a savepoint, which overrides retention rules."""

    pinned: bool = Field(description="Whether nothing may delete it, until it is unpinned.")


@ROUTER.patch("/savepoints/{savepoint}", response_model=answers.Savepoint, responses=refusals(400, 409, 412))
def change(
    pipeline: str, savepoint: str, body: SavepointChange, request: ChangeRequestDep, context: ContextDep
) -> Response:
    """Pin a savepoint, so that nothing deletes it, or unpin it."""
    with context.database.writing() as connection:
        if (answer := earlier_answer(connection, context, request)) is not None:
            return again(answer)
        record = pipelines.get(connection, pipeline)
        request.check(record)
        stored = savepoints.get(connection, record.id, savepoint)
        if stored.pinned != body.pinned:
            savepoints.pin(connection, stored.id, body.pinned)
            told = f"savepoint {stored.id} {'pinned' if body.pinned else 'unpinned'}"
            note(connection, context, request, record.job_id, told)
        shown = answers.savepoint(replace(stored, pinned=body.pinned), context.directory)
        return record_answer(connection, context, request, 200, shown)


@ROUTER.delete("/savepoints/{savepoint}", status_code=204, response_class=Response, responses=refusals(409, 412))
def delete(pipeline: str, savepoint: str, request: ChangeRequestDep, context: ContextDep) -> Response:
    """Delete a savepoint. One that is pinned, in use or still being taken is refused."""
    with context.database.writing() as connection:
        if (answer := earlier_answer(connection, context, request)) is not None:
            return again(answer)
        record = read_record(connection, pipeline)
        request.check(record.pipeline)
        stored = savepoints.get(connection, record.pipeline.id, savepoint)
        refuse_needed(context, connection, record, stored)
        savepoints.mark_deleting(connection, stored.id)
        note(connection, context, request, record.pipeline.job_id, f"savepoint {stored.id} deleted")
        response = record_answer(connection, context, request, 204, None)
    finish(context, record.pipeline.id, [stored.id])
    return response


@ROUTER.post(
    "/restore",
    status_code=202,
    response_model=answers.Pipeline,
    responses={200: {"model": answers.Effects}, **refusals(400, 409, 412)},
)
def restore(
    pipeline: str, body: RestoreRequest, request: ChangeRequestDep, context: ContextDep, dry_run: DryRun = False
) -> Response:
    """Restore a savepoint. A running job stops first and then continues from there."""
    with context.database.reading() as connection:
        if (answer := earlier_answer(connection, context, request)) is not None:
            return again(answer)
        record = read_record(connection, pipeline)
        request.check(record.pipeline)
        stored = savepoints.get(connection, record.pipeline.id, body.savepoint_id)
    plan = plan_restore(context, record, stored, with_version=body.with_version, allow_replay=body.allow_replay)
    return update(context, request, pipeline, plan.ask, 202, dry_run=dry_run)


def _rehearse(context: Context, request: ChangeRequest, pipeline: str, stop: StopMode) -> Response:
    """Return the effects of taking a savepoint."""
    with context.database.reading() as connection:
        record = _record(connection, request, pipeline)
        expected = effects_between(connection, context, record, _stopped(context, request, record, stop))
    return answer_with(with_savepoint(expected, record, is_last=stop != "none"))


def _record(connection: Connection, request: ChangeRequest, pipeline: str) -> JobRecord:
    """Return a pipeline whose state can be saved now."""
    record = read_record(connection, pipeline)
    request.check(record.pipeline)
    if record.status.state is State.RESCALING or record.pipeline.restore is not None:
        raise PipelineBusyError(
            f"the state of pipeline {record.pipeline.name!r} is being changed",
            hint="send the request again in a moment",
        )
    return record


def _stopped(context: Context, request: ChangeRequest, record: JobRecord, stop: StopMode) -> Pipeline:
    """Return the pipeline with the requested stop; `none` changes nothing, even if it is about to stop."""
    if stop == "none":
        return record.pipeline
    by = StopRequest(request.caller, context.clock())
    return intend.ask_stop(record.pipeline, record.status, stop, by)


def _again(connection: Connection, context: Context, answer: KeptAnswer) -> Response:
    """Return the current savepoint of an earlier request with this key. An answer of an earlier version may be stored,
    so only the savepoint's id is read from it."""
    content = json.loads(answer.body)
    stored = savepoints.find(connection, content["pipeline_id"], content["id"])
    return again(answer) if stored is None else _as_it_is(stored, context, {"Idempotency-Replayed": "true"})


def _as_it_is(stored: Savepoint, context: Context, headers: Mapping[str, str] | None = None) -> Response:
    shown = answers.savepoint(stored, context.directory).model_dump(mode="json")
    return JSONResponse(shown, 202 if stored.state == "pending" else 201, headers=headers)
