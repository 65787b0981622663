"""Import a pipeline from another control plane: with its name, its id, its version and its whole state.

    POST   /arrivals/check          check whether it would be accepted; changes nothing
    POST   /arrivals                copy its state from the location; the pipeline is here, and may not run
    POST   /arrivals/ID/start       start it, if it was running at the source, which has released it
    DELETE /arrivals/ID             remove it, as long as no epoch was planned here

Each request is idempotent. The requests to the source are in `engine/api/moves/departures.py`, the order of all of them
in `engine/store/pipelines/moves.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import wait
from dataclasses import replace

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field, ValidationError
from sqlalchemy import Connection

from engine.api import answers
from engine.api.http.bodies import Body
from engine.api.http.change_request import ChangeRequest, ChangeRequestDep, note, note_asking_run
from engine.api.http.problems import ContextDep, refusals
from engine.api.moves.departures import Passport, lock_of
from engine.api.pipelines.deployments import Secrets
from engine.api.savepoints.savepoint_moves import check_place
from engine.control import deletions
from engine.control.context import Context
from engine.control.plan_deployment import plan_of, refuse_id
from engine.control.savepoints.savepoint_holds import SavepointTask
from engine.delivery.faults import reach
from engine.errors import (
    PipelineBusyError,
    PipelineExistsError,
    PipelineIncompatibleError,
    PipelineMovingError,
    PlaceError,
    RequestError,
)
from engine.jobs import disk
from engine.jobs.decisions.intend import is_settled
from engine.jobs.decisions.spec import Pipeline, PlannedQuery, StopRequest
from engine.jobs.decisions.states import State
from engine.jobs.decisions.status import Status
from engine.jobs.fault_points import TransferPoint
from engine.jobs.processes.left_by_drivers import is_at_work
from engine.store.jobs import jobs
from engine.store.jobs.records import read_record
from engine.store.pipelines import deletions as stored_deletions
from engine.store.pipelines import moves, pipeline_secrets, pipelines, versions
from engine.store.pipelines.moves import Move, MoveStep

LOG = logging.getLogger(__name__)
ROUTER = APIRouter(prefix="/arrivals", tags=["moves"])


class ArrivalRequest(Body):
    """The pipeline to import, its location, and the secrets of its script, which are not at the location."""

    passport: Passport = Field(description="What the control plane says of it that it leaves.")
    place: str = Field(min_length=1, max_length=2048, description="Where its state lies.")
    origin: str = Field(min_length=1, max_length=2048, description="The control plane that it leaves, by its URL.")
    secrets: Secrets = Field(default={}, description="The secrets that its script names.")


class Arrival(BaseModel):
    """A move, as its target control plane sees it."""

    pipeline_id: str = Field(description="The pipeline, which keeps its id.")
    name: str = Field(description="What it is called.")
    step: MoveStep | None = Field(description="How far it has come; null before it is here.")
    task: answers.SavepointTask | None = Field(description="How the import stands, until the control plane ends.")
    state: State | None = Field(description="Where its job stands.")
    is_up: bool = Field(
        description="Whether it has started here, and no request is pending; also if it was stopped since."
    )


class Welcome(BaseModel):
    """Confirmation that a target accepts a pipeline."""

    targets: list[str] = Field(description="The places that it would have to itself here.")


@ROUTER.post("/check", responses=refusals(400, 409))
def check(body: ArrivalRequest, context: ContextDep) -> Welcome:
    """Check whether a pipeline of another control plane would be accepted. Changes nothing."""
    planned = _plan(body, context)
    with context.database.rehearsing() as connection:
        _check_free(connection, body.passport)
        versions.claim(connection, body.passport.pipeline_id, body.passport.version, planned.targets)
    return Welcome(targets=list(planned.targets))


@ROUTER.post("", status_code=202, response_model=Arrival, responses={200: {"model": Arrival}, **refusals(400, 409)})
def begin(body: ArrivalRequest, request: ChangeRequestDep, context: ContextDep) -> Response:
    """Import the state of a pipeline that leaves another control plane, without starting it."""
    passport, planned = body.passport, _plan(body, context)
    with context.database.reading() as connection:
        is_here = _find(connection, passport) is not None
        if not is_here:
            _check_free(connection, passport)
    if not is_here and context.holds.begin(passport.pipeline_id, SavepointTask("arrival", context.clock())) is None:
        future = context.readers.submit(_run_import, context, body, planned, request)
        wait([future], context.settle_wait.total_seconds())
    return _answer(context, passport.pipeline_id, passport.name)


@ROUTER.get("/{pipeline}", response_model=Arrival, responses={202: {"model": Arrival}, **refusals(404)})
def get(pipeline: str, context: ContextDep) -> Response:
    """Show the progress of an import from another control plane."""
    return _answer(context, pipeline, pipeline)


class StartRequest(Body):
    """Confirmation that the source has released the pipeline."""

    key: str = Field(max_length=64, description="What that control plane tells from then on.")


@ROUTER.post("/{pipeline}/start", responses=refusals(400, 404, 409, 412))
def start(pipeline: str, body: StartRequest, request: ChangeRequestDep, context: ContextDep) -> Arrival:
    """Start an imported pipeline, if it ran before. Needs the key that the other control plane reveals with the
    release."""
    with context.database.writing() as connection:
        record = read_record(connection, pipeline)
        request.check(record.pipeline)
        move = moves.find(connection, record.pipeline.id)
        if move is None or move.step not in ("arrived", "started"):
            raise _no_arrival(record.pipeline.name)
        if lock_of(body.key) != move.key:
            raise PipelineMovingError(
                f"pipeline {record.pipeline.name!r} may still be running at {move.peer}",
                hint="release it there: `arroyo move` does, and then starts it here",
            )
        if move.step == "arrived":
            moves.put(connection, replace(move, step="started"))
            if move.runs:
                going = pipelines.update(connection, replace(record.pipeline, stop="none", stop_request=None))
                note_asking_run(connection, context, request, going)
            note(connection, context, request, record.pipeline.job_id, f"moved here from {move.peer}")
    reach(TransferPoint.AFTER_START)
    context.changed(record.pipeline.id)
    return _shown(context, record.pipeline.id, record.pipeline.name)


@ROUTER.delete("/{pipeline}", status_code=204, response_class=Response, responses=refusals(404, 409, 412))
def give_up(pipeline: str, request: ChangeRequestDep, context: ContextDep) -> None:
    """Undo an import, if the pipeline has done nothing here: no epoch is planned. Does nothing if it is not here."""
    if (task := context.holds.tasks.get(pipeline)) is not None and task.state == "running":
        raise PipelineBusyError("the pipeline is coming in", hint="send the request again in a moment")
    with context.database.writing() as connection:
        move = moves.find(connection, pipeline)
        if move is None:
            return
        record = read_record(connection, pipeline)
        request.check(record.pipeline)
        if move.step not in ("arrived", "started"):
            raise _no_arrival(record.pipeline.name)
        if not record.status.state.is_terminal or is_at_work(context.directory.driver_lock(pipeline)):
            raise PipelineBusyError(f"pipeline {record.pipeline.name!r} is up here", hint="stop it first")
        if _has_gone_on(context, move):
            raise PipelineMovingError(
                f"pipeline {record.pipeline.name!r} has begun to work here, and its sinks may have rows of that",
                hint="let it go on here; where it was, it has what it had",
            )
        pipelines.remove(connection, record.pipeline)
        stored_deletions.add(connection, pipeline, context.clock())
    LOG.info("pipeline %s goes back to %s, as %s has asked", pipeline, move.peer, request.caller)
    context.holds.tasks.pop(pipeline, None)
    deletions.finish(context, pipeline)
    context.changes.notify(pipeline)


def _has_gone_on(context: Context, move: Move) -> bool:
    from engine.checkpoints.whole_state import newest_epochs  # noqa: PLC0415 - it brings what a server need not have

    return newest_epochs(context.directory.state(move.pipeline_id)) != (move.committed, move.planned)


def _plan(body: ArrivalRequest, context: Context) -> PlannedQuery:
    """Plan the imported query here; refuse it if it has another meaning than at its origin."""
    passport = body.passport
    if not disk.is_id(passport.pipeline_id, "pl"):
        raise RequestError(f"{passport.pipeline_id!r} is no id of a pipeline")
    check_place(context.directory, body.place)
    refuse_id(passport.name)
    missing = sorted({*passport.secrets} - {*body.secrets})
    if missing:
        raise RequestError(
            f"the pipeline has secrets, which no control plane shows: {', '.join(missing)}",
            hint="give them once more: --secret NAME=FILE",
        )
    planned = plan_of(passport.spec, context)
    if planned.fingerprint != passport.fingerprint:
        raise PipelineIncompatibleError(
            "the query means something else here than where it comes from",
            hint="see that both control planes have the same version and the same connections",
        )
    return planned


def _check_free(connection: Connection, passport: Passport) -> None:
    if (there := pipelines.find(connection, passport.name)) is not None:
        move = moves.find(connection, there.id)
        if move is not None and move.step == "over":
            raise PipelineExistsError(
                f"pipeline {passport.name!r} has moved away from here, and its records are still here",
                hint=f"delete them: arroyo delete {passport.name} --with-savepoints",
            )
        if move is not None and move.step == "arrived" and there.id == passport.pipeline_id:
            raise PipelineExistsError(
                f"pipeline {passport.name!r} has come here in an earlier move that was taken back",
                hint="`arroyo move --take-back` with the same control planes removes what is left of that",
            )
        raise PipelineExistsError(f"there is a pipeline {passport.name!r} already", hint="delete one of the two")
    if passport.pipeline_id in stored_deletions.pending(connection):
        raise PipelineBusyError("the pipeline is still being deleted here", hint="send the request again in a moment")


def _find(connection: Connection, passport: Passport) -> Move | None:
    move = moves.find(connection, passport.pipeline_id)
    is_it = move is not None and move.move == passport.move and move.step in ("arrived", "started")
    return move if is_it else None


def _run_import(context: Context, body: ArrivalRequest, planned: PlannedQuery, request: ChangeRequest) -> None:
    pipeline_id = body.passport.pipeline_id
    context.holds.carry_out(pipeline_id, lambda: f"{_import(context, body, planned, request)} files are here")


def _import(context: Context, body: ArrivalRequest, planned: PlannedQuery, request: ChangeRequest) -> int:
    from engine.checkpoints.places import open_place  # noqa: PLC0415 - it brings what a server need not have
    from engine.checkpoints.whole_state import import_state, read_state  # noqa: PLC0415

    place = open_place(body.place)
    whole = read_state(place)
    passport = _passport_at(whole.about, body)
    import_state(whole, place, context.directory.state(passport.pipeline_id))
    reach(TransferPoint.AFTER_STATE_IN)
    with context.database.writing() as connection:
        _check_free(connection, passport)
        _write(connection, passport, body, planned, context, request)
    reach(TransferPoint.AFTER_ARRIVAL)
    return len(whole.files)


def _passport_at(about: Mapping[str, object], body: ArrivalRequest) -> Passport:
    """Read the export that was written when the pipeline had stopped."""
    try:
        passport = Passport.model_validate(about)
    except ValidationError as error:
        raise PlaceError(f"{body.place} holds something else than a pipeline", hint="export it again") from error
    if (passport.move, passport.pipeline_id) != (body.passport.move, body.passport.pipeline_id):
        raise PlaceError(f"{body.place} holds another pipeline, or another move of it", hint="name another place")
    if passport.fingerprint != body.passport.fingerprint:
        raise PlaceError(f"{body.place} holds another version of the pipeline", hint="export it again")
    return passport


def _write(
    connection: Connection,
    passport: Passport,
    body: ArrivalRequest,
    planned: PlannedQuery,
    context: Context,
    request: ChangeRequest,
) -> None:
    """Write the imported pipeline, stopped. It continues its generations, so that its sinks accept the next run as the
    newest."""
    now, job_id = context.clock(), disk.make("job")
    pipeline = Pipeline(
        id=passport.pipeline_id,
        name=passport.name,
        job_id=job_id,
        version=passport.version,
        parallelism=passport.parallelism,
        created_at=now,
        stop="checkpoint",
        stop_request=StopRequest(request.caller, now),
        asked_by=request.who,
        tags=passport.tags,
    )
    version = planned.as_version(pipeline.id, passport.version, passport.spec, now)
    if not pipelines.add(connection, pipeline):
        raise PipelineExistsError(f"there is a pipeline {passport.name!r} already", hint="delete one of the two")
    versions.add(connection, version)
    status = Status(
        job_id,
        pipeline.id,
        State.STOPPED,
        now,
        now,
        generation=passport.generation,
        version=passport.version,
        parallelism=passport.parallelism,
        finished_at=now,
    )
    jobs.add(connection, status)
    versions.claim(connection, pipeline.id, passport.version, planned.targets)
    values = {name: secret.get_secret_value() for name, secret in body.secrets.items() if name in passport.secrets}
    pipeline_secrets.replace(connection, context.database.vault, pipeline.id, values, now)
    moves.put(
        connection,
        Move(
            pipeline.id,
            passport.move,
            "arrived",
            body.place,
            body.origin,
            passport.runs,
            now,
            passport.lock,
            passport.committed,
            passport.planned,
        ),
    )
    note(
        connection,
        context,
        request,
        job_id,
        f"imported from {body.origin}; it starts once {body.origin} has released it",
    )


def _answer(context: Context, pipeline_id: str, name: str) -> Response:
    shown = _shown(context, pipeline_id, name)
    is_running = shown.task is not None and shown.task.state == "running"
    return JSONResponse(shown.model_dump(mode="json"), 202 if is_running else 200)


def _shown(context: Context, pipeline_id: str, name: str) -> Arrival:
    done = context.holds.tasks.get(pipeline_id)
    task = None if done is None or done.kind != "arrival" else answers.savepoint_task(done)
    with context.database.reading() as connection:
        move = moves.find(connection, pipeline_id)
        if move is None or move.step not in ("arrived", "started"):
            return Arrival(pipeline_id=pipeline_id, name=name, step=None, task=task, state=None, is_up=False)
        record = read_record(connection, pipeline_id)
    state = record.status.state
    # only a person can have stopped it here: the move has ended nevertheless
    may_rest = not move.runs or (record.pipeline.stop != "none" and state is State.STOPPED)
    is_up = may_rest or (state in (State.RUNNING, State.FINISHED) and is_settled(record.pipeline, record.status))
    return Arrival(
        pipeline_id=pipeline_id,
        name=record.pipeline.name,
        step=move.step,
        task=task,
        state=state,
        is_up=is_up and move.step == "started",
    )


def _no_arrival(name: str) -> PipelineMovingError:
    return PipelineMovingError(f"pipeline {name!r} does not come from another control plane", hint="`arroyo list`")
