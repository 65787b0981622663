"""Long-running tasks on a savepoint. A request starts one, and is held for a moment.

    POST .../verify    starts a task, and responds after some seconds: 200 it is done, 202 it continues
    GET                shows the task, until the control plane ends

A task that ends with its control plane has changed nothing, and can be requested again.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse

from engine.api import answers
from engine.api.http.change_request import ChangeRequestDep
from engine.api.http.depends import ContextDep
from engine.api.http.problems import refusals
from engine.control.context import Context
from engine.control.savepoints.savepoint_holds import SavepointTask, TaskKind
from engine.control.savepoints.savepoint_use import holding
from engine.errors import (
    DamagedSavepointError,
    PipelineBusyError,
    RequestError,
    SavepointError,
    SavepointNotFoundError,
)
from engine.jobs.authors import CONTROL_PLANE
from engine.jobs.decisions.status import JobEvent
from engine.store import savepoints
from engine.store.jobs import events
from engine.store.pipelines import pipelines
from engine.store.savepoints import Savepoint

ROUTER = APIRouter(prefix="/pipelines/{pipeline}", tags=["savepoints"], responses=refusals(404))
Work = Callable[[Savepoint], str]
"""Works on a savepoint that must not be deleted meanwhile; returns the result, or raises EngineError."""


@ROUTER.post(
    "/savepoints/{savepoint}/verify",
    status_code=202,
    response_model=answers.Savepoint,
    responses={200: {"model": answers.Savepoint}, **refusals(400, 409, 412)},
)
def verify(
    pipeline: str,
    savepoint: str,
    request: ChangeRequestDep,
    context: ContextDep,
    drill: Annotated[
        bool, Query(description="Whether to restore it into a scratch directory and read every row of its state, too.")
    ] = False,
) -> Response:
    """Verify every file of a savepoint against the manifest. The savepoint then has the time or the error; with a
    drill, also the time of the restore test."""
    if drill and context.drill is None:
        raise RequestError("this control plane plays no drills", hint="verify without one")
    with context.database.reading() as connection:
        record = pipelines.get(connection, pipeline)
        request.check(record)
        stored = savepoints.get(connection, record.id, savepoint)
    kind: TaskKind = "drill" if drill else "verify"
    return begin(context, stored, kind, lambda held: _verify(context, held, record.job_id, drill=drill))


def begin(context: Context, stored: Savepoint, kind: TaskKind, work: Work) -> Response:
    """Have something done with a savepoint. The same thing that is done already is waited for."""
    if (future := start(context, stored, kind, work)) is not None:
        wait([future], context.settle_wait.total_seconds())
    task = context.holds.tasks[stored.id]
    with context.database.reading() as connection:
        current = savepoints.get(connection, stored.pipeline_id, stored.id)
    shown = answers.savepoint(current, context.directory, task).model_dump(mode="json")
    return JSONResponse(shown, 202 if task.state == "running" else 200)


def start(context: Context, stored: Savepoint, kind: TaskKind, work: Work) -> Future[None] | None:
    """Have something done with a savepoint, by and by; None when the same is done already."""
    if stored.state != "completed":
        raise SavepointError(f"savepoint {stored.id} is {stored.state}", hint="only a completed savepoint can be read")
    running = context.holds.begin(stored.id, SavepointTask(kind, context.clock()))
    if running is None:
        return context.readers.submit(_run, context, stored, kind, work)
    if running.kind != kind:
        raise PipelineBusyError(f"savepoint {stored.id} is busy: {running.kind}", hint="wait until that has ended")
    return None


def start_drill(context: Context, stored: Savepoint, job_id: str) -> None:
    """Have a savepoint restored into a scratch directory and read, by and by."""
    start(context, stored, "drill", lambda held: _verify(context, held, job_id, drill=True))


def _run(context: Context, stored: Savepoint, kind: TaskKind, work: Work) -> None:
    def work_on_it() -> str:
        with holding(context, stored.pipeline_id, stored.id, f"it is worked on ({kind})") as held:
            return work(held)

    context.holds.carry_out(stored.id, work_on_it)


def _verify(context: Context, stored: Savepoint, job_id: str, *, drill: bool) -> str:
    """Read all of it; what is found is written down. Where it could not be tried, nothing is."""
    from engine.checkpoints import savepoints as saved  # noqa: PLC0415 - it brings pyarrow, which a server need not have

    folder = context.directory.savepoint(stored.pipeline_id, stored.id)
    try:
        message = f"{len(saved.verify(folder).files)} files are whole"
        if drill and context.drill is not None:
            message = f"{message}; {context.drill(folder)}"
    except (DamagedSavepointError, SavepointNotFoundError) as error:
        with context.database.writing() as connection:
            savepoints.note_damage(connection, stored.id, context.clock(), error.message)
            told = JobEvent(job_id, context.clock(), "warn", error.message, error.code, error.hint, who=CONTROL_PLANE)
            events.add(connection, told)
        raise
    with context.database.writing() as connection:
        savepoints.note_whole(connection, stored.id, context.clock(), is_proven=drill)
    return message
