"""Rehearsals: compare the output of another query with that of the running one.

    POST      validate it as far as possible without running anything, and queue it
    GET       waiting, running; done, with the differing rows, or failed, with the reason
    DELETE    cancel it

`engine/control/upgrades/rehearsal_watch.py` runs each in a process of its own. The pipeline itself is only read.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse
from pydantic import Field
from sqlalchemy import Connection

from engine.api.answers import Page
from engine.api.http.change_request import ChangeRequestDep, again, earlier_answer, note, record_answer
from engine.api.http.problems import ContextDep, refusals
from engine.api.upgrades import rehearsal_answers as answers
from engine.api.upgrades.upgrades import OtherQuery
from engine.control.context import Context
from engine.control.plan_deployment import plan_whole, starts_of
from engine.control.rehearsals import refuse_without_memory, refuse_without_room
from engine.errors import RehearsalBusyError, RehearsalStoppedError, SavepointError
from engine.jobs import disk
from engine.jobs.decisions import intend
from engine.jobs.decisions.rollback import RehearsedChange
from engine.store import savepoints
from engine.store.jobs.records import read_record
from engine.store.pipelines import pipelines, rehearsals, versions
from engine.store.pipelines.rehearsals import Rehearsal

ROUTER = APIRouter(prefix="/pipelines/{pipeline}/rehearsals", tags=["rehearsals"], responses=refusals(404))
_MOST_EXAMPLES = 1000


class RehearsalRequest(OtherQuery):
    """Another query for a pipeline, with the same options for losses as a deployment."""

    settings: dict[str, str] | None = Field(
        default=None,
        description="Of these `memory` and `start_from` count; those of the pipeline by default.",
    )
    savepoint_id: str | None = Field(
        default=None, max_length=64, description="The savepoint that both queries go on from; else the newest epoch."
    )
    examples: int = Field(
        default=10, ge=0, le=_MOST_EXAMPLES, description="How many rows are shown of each sink that differs."
    )
    limit_micros: int | None = Field(
        default=None, ge=1, description="How long it may take; at most, and by default, the setting rehearsal.limit."
    )


@ROUTER.post(
    "",
    status_code=202,
    response_model=answers.Rehearsal,
    responses={200: {"model": answers.Rehearsal}, **refusals(400, 409, 412)},
)
def begin(pipeline: str, body: RehearsalRequest, request: ChangeRequestDep, context: ContextDep) -> Response:
    """Rehearse a query: run it and the running query from copies of the state over the same input, and compare their
    rows. The pipeline is not affected. Requests with the same key share one rehearsal; the status is 200 once it has
    ended."""
    with context.database.reading() as connection:
        if (answer := earlier_answer(connection, context, request)) is not None:
            return _again(connection, context, json.loads(answer.body)) or again(answer)
        record = read_record(connection, pipeline)
        request.check(record.pipeline)
        intend.refuse_while_restored(record.pipeline)
        current = versions.get(connection, record.pipeline.id, record.pipeline.version).spec
        place = _place(connection, context, record.pipeline.id, body.savepoint_id)
        _refuse_another(connection, record.pipeline.id)
    spec = plan_whole(body.to_spec(current), context)[0].spec  # refuses what cannot be run, with every complaint
    change = RehearsedChange(
        spec.query, spec.udfs, current.udfs, spec.settings, body.keep_state, body.reset, body.hold_back, body.examples
    )
    known = context.planner.check_rehearsal(place, change, starts_of(spec))
    refuse_without_room(context.free_bytes(), known.state_bytes, context.rehearsals.free_bytes)
    free_memory = context.free_memory()
    refuse_without_memory(free_memory, change.settings)
    with context.database.writing() as connection:
        if (answer := earlier_answer(connection, context, request)) is not None:
            return _again(connection, context, json.loads(answer.body)) or again(answer)
        record = read_record(connection, record.pipeline.id)
        _place(connection, context, record.pipeline.id, body.savepoint_id)  # it may have been deleted meanwhile
        _refuse_another(connection, record.pipeline.id)
        fresh = Rehearsal(
            disk.make("reh"),
            record.pipeline.id,
            change,
            known.plan_id,
            context.clock(),
            _limit(context, body),
            version=record.status.version,
            savepoint_id=body.savepoint_id,
            creator=request.caller,
        )
        rehearsals.add(connection, fresh, context.rehearsals.kept)
        said = "" if free_memory is not None else "; how much memory is free on this machine is not known"
        note(connection, context, request, record.pipeline.job_id, f"rehearsal {fresh.id} requested{said}")
        response = record_answer(connection, context, request, 202, answers.show(fresh, context))
    context.rehearsals_changed.set()
    return response


@ROUTER.get("")
def list_all(
    pipeline: str, context: ContextDep, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Page[answers.Rehearsal]:
    """List the rehearsals of a pipeline, newest first."""
    with context.database.reading() as connection:
        page = rehearsals.page(connection, pipelines.get(connection, pipeline).id, limit + 1)
    return Page(data=[answers.show(stored, context) for stored in page[:limit]], has_more=len(page) > limit)


@ROUTER.get("/{rehearsal}")
def get(pipeline: str, rehearsal: str, context: ContextDep) -> answers.Rehearsal:
    """Show a rehearsal, by id."""
    with context.database.reading() as connection:
        stored = rehearsals.get(connection, pipelines.get(connection, pipeline).id, rehearsal)
    return answers.show(stored, context)


@ROUTER.delete("/{rehearsal}", responses=refusals(412))
def stop(pipeline: str, rehearsal: str, request: ChangeRequestDep, context: ContextDep) -> answers.Rehearsal:
    """Cancel a rehearsal, and remove its files. One that has ended is unchanged."""
    with context.database.writing() as connection:
        record = pipelines.get(connection, pipeline)
        request.check(record)
        stored = rehearsals.get(connection, record.id, rehearsal)
        error = RehearsalStoppedError(f"it was called off by {request.caller}")
        stopped = replace(stored.given_up(context.clock(), error), state="stopped")
        if rehearsals.move_on(connection, stopped):
            note(connection, context, request, record.job_id, f"rehearsal {stored.id} cancelled")
            stored = stopped
    context.rehearsals_changed.set()
    return answers.show(stored, context)


def _again(connection: Connection, context: Context, kept: dict[str, Any]) -> Response | None:
    """Return the current rehearsal of an earlier request with this key, while it is stored."""
    stored = rehearsals.find(connection, kept["pipeline_id"], kept["id"])
    if stored is None:
        return None
    shown = answers.show(stored, context).model_dump(mode="json")
    return JSONResponse(shown, 202 if stored.is_open else 200, headers={"Idempotency-Replayed": "true"})


def _place(connection: Connection, context: Context, pipeline_id: str, savepoint_id: str | None) -> Path:
    """Return the state from which both queries start."""
    if savepoint_id is None:
        return context.directory.state(pipeline_id)
    savepoint = savepoints.get(connection, pipeline_id, savepoint_id)
    if savepoint.state != "completed":
        raise SavepointError(f"savepoint {savepoint.id} is {savepoint.state}", hint="only a completed one can be read")
    return context.directory.savepoint(pipeline_id, savepoint.id)


def _refuse_another(connection: Connection, pipeline_id: str) -> None:
    for other in rehearsals.not_over(connection, pipeline_id):
        raise RehearsalBusyError(
            f"rehearsal {other.id} of the pipeline is {other.state}", hint="wait until it has ended, or cancel it"
        )


def _limit(context: Context, body: RehearsalRequest) -> timedelta:
    longest = context.rehearsals.limit
    return longest if body.limit_micros is None else min(longest, timedelta(microseconds=body.limit_micros))
