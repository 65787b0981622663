"""Export a pipeline to another control plane: it stops, its whole state is copied to a location, and it no longer runs
here.

    POST   .../departure            stop it; from now on it cannot be started here
    POST   .../departure/export     copy its state to the location, once it has stopped
    POST   .../departure/release    it never runs here again: it may be started at the target
    POST   .../departure/over       it runs at the target
    DELETE .../departure            cancel, and restart it if it was running; after the release only if the target has
                                    removed it

Each request is idempotent. `arroyo move` sends them, and those of `engine/api/moves/arrivals.py` to the target;
`engine/store/pipelines/moves.py` has the records of both. From the release on, the response contains the key without
which the target cannot start the pipeline.
"""

from __future__ import annotations

import hashlib
import secrets
from concurrent.futures import wait
from dataclasses import replace
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from engine.api import answers
from engine.api.http.bodies import Body, Tags
from engine.api.http.change_request import ChangeRequest, ChangeRequestDep, DryRun, note
from engine.api.http.problems import ContextDep, refusals
from engine.api.pipelines.deployments import Name
from engine.api.savepoints.savepoint_moves import check_place
from engine.control.context import Context
from engine.control.savepoints.savepoint_holds import SavepointTask
from engine.delivery.faults import reach
from engine.errors import PipelineBusyError, PipelineMovingError
from engine.jobs.actors import JobRecord
from engine.jobs.decisions.intend import is_settled
from engine.jobs.decisions.spec import Spec, StopRequest
from engine.jobs.decisions.states import State
from engine.jobs.fault_points import TransferPoint
from engine.jobs.processes.left_by_drivers import is_at_work
from engine.store.jobs.records import read_record, read_version
from engine.store.pipelines import moves, pipeline_secrets, pipelines
from engine.store.pipelines.moves import Move, MoveStep
from engine.values.cluster import MAX_PARALLELISM
from engine.values.instants import to_micros


def lock_of(key: str) -> str:
    """Return a digest of a key, which does not reveal it."""
    return hashlib.sha256(key.encode()).hexdigest()


class Passport(Body):
    """A pipeline at its export, without its secrets."""

    move: str = Field(min_length=1, max_length=64, description="The id of the move.")
    pipeline_id: str = Field(description="Its id, which it keeps: by that its targets know their owner.")
    name: Name = Field(description="What it is called, here and there.")
    version: int = Field(ge=1, description="The number of its version.")
    parallelism: int = Field(ge=1, le=MAX_PARALLELISM, description="How many tasks run in parallel.")
    query: str = Field(min_length=1, description="The SQL text.")
    udfs: tuple[str, ...] = Field(default=(), description="The files of its Python functions.")
    settings: dict[str, str] = Field(default={}, description="The settings of its runs.")
    checkpoint_interval_micros: int | None = Field(default=None, description="The least time between epochs.")
    fingerprint: str = Field(description="What its state is bound to.")
    tags: Tags = Field(default={}, description="Its labels.")
    secrets: tuple[str, ...] = Field(default=(), description="The names of the secrets that its script names.")
    runs: bool = Field(description="Whether it is to run there.")
    lock: str = Field(max_length=64, description="The digest of the key with which it may be started there.")
    generation: int = Field(ge=0, description="The number of its newest run.")
    committed: int | None = Field(default=None, description="The newest epoch that its state has committed.")
    planned: int | None = Field(default=None, description="The newest epoch that its state has planned.")

    @property
    def spec(self) -> Spec:
        """Return the version's content."""
        micros = self.checkpoint_interval_micros
        interval = None if micros is None else timedelta(microseconds=micros)
        return Spec(self.query, self.udfs, self.settings, interval)


ROUTER = APIRouter(prefix="/pipelines/{pipeline}/departure", tags=["moves"], responses=refusals(404))


class DepartureRequest(Body):
    """Target of the move, and the location for the state."""

    to: str = Field(min_length=1, max_length=2048, description="The other control plane, as people know it: its URL.")
    place: str = Field(
        min_length=1,
        max_length=2048,
        description="Where its state is put for the other control plane to fetch, which has to reach it, too: "
        "`file:///folder`, `s3://bucket/prefix` or `s3::https://endpoint/bucket/prefix`.",
    )


class Departure(BaseModel):
    """A move, as its source control plane sees it."""

    step: MoveStep = Field(description="How far it has come.")
    to: str = Field(description="The other control plane.")
    place: str = Field(description="By which way the state goes.")
    began_at: int = Field(description="When it was asked for.")
    passport: Passport = Field(description="What the other control plane has to know.")
    key: str | None = Field(description="What lets the other control plane start it; null before it is released.")
    task: answers.SavepointTask | None = Field(description="How the export stands, until the control plane ends.")


@ROUTER.get("", responses=refusals(404))
def get(pipeline: str, context: ContextDep) -> answers.Page[Departure]:
    """Show the progress of a move to another control plane; an empty list if there is none."""
    with context.database.reading() as connection:
        record = read_record(connection, pipeline)
        move = moves.find(connection, record.pipeline.id)
        leaves = move is not None and _is_departure(move)
        return answers.Page(data=[_show(connection, record, move, context)] if move is not None and leaves else [])


@ROUTER.post("", response_model=Departure, responses=refusals(400, 409, 412))
def begin(
    pipeline: str, body: DepartureRequest, request: ChangeRequestDep, context: ContextDep, dry_run: DryRun = False
) -> Departure:
    """Prepare a move: stop the pipeline, and prevent starts."""
    check_place(context.directory, body.place)
    with context.database.reading() as connection:
        record = read_record(connection, pipeline)
        request.check(record.pipeline)
        move = moves.find(connection, record.pipeline.id)
        if move is not None and _is_departure(move) and move.step != "over":
            if (move.peer, move.place) == (body.to, body.place):
                return _show(connection, record, move, context)
            moves.refuse_changes(connection, record.pipeline.id)
        _check(connection, record)
        _check_free(body.place, record.pipeline.id)
        runs = record.pipeline.stop == "none"
        key = secrets.token_hex(16)
        fresh = Move(
            record.pipeline.id, secrets.token_hex(8), "leaving", body.place, body.to, runs, context.clock(), key
        )
        if dry_run:
            return _show(connection, record, fresh, context)
    with context.database.writing() as connection:
        record = read_record(connection, record.pipeline.id)
        _check(connection, record)
        by = StopRequest(request.caller, context.clock())
        stopped = replace(record.pipeline, stop="checkpoint", stop_request=record.pipeline.stop_request or by)
        pipelines.update(connection, stopped)
        moves.put(connection, fresh)
        note(connection, context, request, record.pipeline.job_id, f"move to {body.to} requested")
    reach(TransferPoint.AFTER_LEAVING)
    context.changed(record.pipeline.id)
    with context.database.reading() as connection:
        return _show(connection, read_record(connection, record.pipeline.id), fresh, context)


@ROUTER.post(
    "/export",
    status_code=202,
    response_model=Departure,
    responses={200: {"model": Departure}, **refusals(400, 409, 412)},
)
def export(pipeline: str, request: ChangeRequestDep, context: ContextDep) -> Response:
    """Export the state of the stopped pipeline to the location of the move."""
    with context.database.reading() as connection:
        record, move = _departing(connection, pipeline, "leaving", "exported", "released", "over")
        request.check(record.pipeline)
    pipeline_id = record.pipeline.id
    if move.step == "leaving":
        if record.status.state is not State.STOPPED or is_at_work(context.directory.driver_lock(pipeline_id)):
            raise PipelineBusyError(
                f"pipeline {record.pipeline.name!r} has not stopped yet", hint="send the request again in a moment"
            )
        if context.holds.begin(pipeline_id, SavepointTask("departure", context.clock())) is None:
            future = context.readers.submit(_run_export, context, record, move, request)
            wait([future], context.settle_wait.total_seconds())
    with context.database.reading() as connection:
        record, move = _departing(connection, pipeline, "leaving", "exported", "released", "over")
        shown = _show(connection, record, move, context)
    is_running = shown.task is not None and shown.task.state == "running"
    return JSONResponse(shown.model_dump(mode="json"), 202 if is_running else 200)


@ROUTER.post("/release", responses=refusals(409, 412))
def release(pipeline: str, request: ChangeRequestDep, context: ContextDep) -> Departure:
    """Release a pipeline after its export: it never runs here again, so it may start there."""
    return _advance(pipeline, request, context, ("exported",), "released", TransferPoint.AFTER_RELEASE)


@ROUTER.post("/over", responses=refusals(409, 412))
def end(pipeline: str, request: ChangeRequestDep, context: ContextDep) -> Departure:
    """Record that a released pipeline runs there; it can be deleted here."""
    return _advance(pipeline, request, context, ("released",), "over", TransferPoint.AFTER_OVER)


@ROUTER.delete("", status_code=204, response_class=Response, responses=refusals(409, 412))
def take_back(
    pipeline: str,
    request: ChangeRequestDep,
    context: ContextDep,
    removed_there: Annotated[
        bool, Query(description="Whether the other control plane no longer has any of it, once it was given away.")
    ] = False,
) -> None:
    """Cancel a move; the pipeline runs again if it did before. After the release, the request must confirm that the
    other control plane has no copy."""
    with context.database.writing() as connection:
        record, move = _departing(connection, pipeline, "leaving", "exported", "released")
        request.check(record.pipeline)
        if move.step == "released" and not removed_there:
            raise PipelineMovingError(
                f"pipeline {record.pipeline.name!r} may be running at {move.peer}",
                hint="check that nothing of it is left there, then confirm with removed_there=true",
            )
        moves.remove(connection, record.pipeline.id)
        if move.runs:
            pipelines.update(connection, replace(record.pipeline, stop="none", stop_request=None))
        note(connection, context, request, record.pipeline.job_id, f"move to {move.peer} cancelled")
    context.holds.tasks.pop(record.pipeline.id, None)
    context.changed(record.pipeline.id)


def _advance(
    pipeline: str,
    request: ChangeRequest,
    context: Context,
    before: tuple[MoveStep, ...],
    step: MoveStep,
    point: TransferPoint,
) -> Departure:
    later: tuple[MoveStep, ...] = ("over",) if step == "released" else ()
    with context.database.writing() as connection:
        record, move = _departing(connection, pipeline, *before, step, *later)
        request.check(record.pipeline)
        if move.step in before:
            move = replace(move, step=step)
            moves.put(connection, move)
            told = {"released": f"released to {move.peer}", "over": f"moved to {move.peer}"}[step]
            note(connection, context, request, record.pipeline.job_id, told)
    reach(point)
    with context.database.reading() as connection:
        return _show(connection, record, move, context)


def _check(connection: Connection, record: JobRecord) -> None:
    """Raise for a pipeline that is neither stopped nor simply running: its future is not decided."""
    pipeline, status = record.pipeline, record.status
    if status.state not in (State.RUNNING, State.STOPPED) or not is_settled(pipeline, status):
        raise PipelineBusyError(
            f"pipeline {pipeline.name!r} is {status.state}", hint="let it run, or stop it; then move it"
        )
    if status.version is not None and status.version != pipeline.version:
        raise PipelineBusyError(
            f"version {pipeline.version} of pipeline {pipeline.name!r} has not run yet", hint="let it run; then move it"
        )
    version = read_version(connection, pipeline.id, pipeline.version)
    if version.upgrade is not None or version.force:
        raise PipelineBusyError(
            f"pipeline {pipeline.name!r} is about to take over another state", hint="let it run; then move it"
        )
    if (fork := pipelines.forking_from(connection, pipeline.id)) is not None:
        raise PipelineBusyError(f"pipeline {fork!r} is to begin with a savepoint of it", hint="wait until it runs")


def _check_free(text: str, pipeline_id: str) -> None:
    """Raise for a location that cannot be reached, or that has other content, before anything stops."""
    from engine.checkpoints.places import open_place  # noqa: PLC0415 - it brings what a server need not have
    from engine.checkpoints.whole_state import check_free  # noqa: PLC0415

    check_free(open_place(text), pipeline_id)


def _departing(connection: Connection, pipeline: str, *steps: MoveStep) -> tuple[JobRecord, Move]:
    record = read_record(connection, pipeline)
    move = moves.find(connection, record.pipeline.id)
    if move is None or move.step not in steps:
        state = "does not move" if move is None or not _is_departure(move) else f"is at the step {move.step!r}"
        raise PipelineMovingError(f"pipeline {record.pipeline.name!r} {state}", hint="`arroyo move` moves it")
    return record, move


def _is_departure(move: Move) -> bool:
    return move.step not in ("arrived", "started")


def _run_export(context: Context, record: JobRecord, move: Move, request: ChangeRequest) -> None:
    def send() -> str:
        return f"{_export(context, record, move, request)} files are at {move.place}"

    context.holds.carry_out(record.pipeline.id, send)


def _export(context: Context, record: JobRecord, move: Move, request: ChangeRequest) -> int:
    from engine.checkpoints.places import open_place  # noqa: PLC0415 - it brings what a server need not have
    from engine.checkpoints.whole_state import export_state, newest_epochs  # noqa: PLC0415

    state = context.directory.state(record.pipeline.id)
    committed, planned = newest_epochs(state)
    left = replace(move, step="exported", committed=committed, planned=planned)
    with context.database.reading() as connection:
        passport = _passport(connection, record, left)
    count = export_state(state, open_place(move.place), passport.model_dump(mode="json"))
    reach(TransferPoint.AFTER_STATE_OUT)
    with context.database.writing() as connection:
        # it may have been taken back meanwhile
        record, current = _departing(connection, record.pipeline.id, "leaving")
        if current.move == move.move:
            moves.put(connection, left)
            note(connection, context, request, record.pipeline.job_id, f"state exported to {move.place}: {count} files")
    return count


def _passport(connection: Connection, record: JobRecord, move: Move) -> Passport:
    pipeline = record.pipeline
    version = read_version(connection, pipeline.id, pipeline.version)
    interval = version.spec.checkpoint_interval
    return Passport(
        move=move.move,
        pipeline_id=pipeline.id,
        name=pipeline.name,
        version=version.number,
        parallelism=record.status.parallelism or pipeline.parallelism,
        query=version.spec.query,
        udfs=version.spec.udfs,
        settings=dict(version.spec.settings),
        checkpoint_interval_micros=None if interval is None else interval // timedelta(microseconds=1),
        fingerprint=version.fingerprint,
        tags=dict(pipeline.tags),
        secrets=tuple(pipeline_secrets.times(connection, pipeline.id)),
        runs=move.runs,
        lock=lock_of(move.key),
        generation=record.status.generation,
        committed=move.committed,
        planned=move.planned,
    )


def _show(connection: Connection, record: JobRecord, move: Move, context: Context) -> Departure:
    task = context.holds.tasks.get(record.pipeline.id)
    return Departure(
        step=move.step,
        to=move.peer,
        place=move.place,
        began_at=to_micros(move.began_at),
        passport=_passport(connection, record, move),
        key=move.key if move.step in ("released", "over") else None,
        task=None if task is None or task.kind != "departure" else answers.savepoint_task(task),
    )
