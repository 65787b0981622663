"""Verify savepoints and restore them on trial, on threads of the control plane."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

from engine.control.context import Context
from engine.control.savepoints.savepoint_holds import SavepointTask, TaskKind
from engine.control.savepoints.savepoint_use import holding
from engine.errors import (
    DamagedSavepointError,
    PipelineBusyError,
    SavepointError,
    SavepointNotFoundError,
)
from engine.jobs.actors import CONTROL_PLANE
from engine.jobs.decisions.status import JobEvent
from engine.store import savepoints
from engine.store.jobs import events
from engine.store.savepoints import Savepoint

Work = Callable[[Savepoint], str]
"""Works on a savepoint that must not be deleted meanwhile; returns the result, or raises EngineError."""


def start(context: Context, stored: Savepoint, kind: TaskKind, work: Work) -> Future[None] | None:
    """Start a task on a savepoint in the background; return None if the same task is running already."""
    if stored.state != "completed":
        raise SavepointError(f"savepoint {stored.id} is {stored.state}", hint="only a completed savepoint can be read")
    running = context.holds.begin(stored.id, SavepointTask(kind, context.clock()))
    if running is None:
        return context.readers.submit(_run, context, stored, kind, work)
    if running.kind != kind:
        raise PipelineBusyError(f"savepoint {stored.id} is busy: {running.kind}", hint="wait until that has ended")
    return None


def start_drill(context: Context, stored: Savepoint, job_id: str) -> None:
    """Start a restore test of a savepoint in the background."""
    start(context, stored, "drill", lambda held: verify_savepoint(context, held, job_id, drill=True))


def _run(context: Context, stored: Savepoint, kind: TaskKind, work: Work) -> None:
    def work_on_it() -> str:
        with holding(context, stored.pipeline_id, stored.id, f"it is worked on ({kind})") as held:
            return work(held)

    context.holds.carry_out(stored.id, work_on_it)


def verify_savepoint(context: Context, stored: Savepoint, job_id: str, *, drill: bool) -> str:
    """Read all of a savepoint and record the result; record nothing if it could not be read for another reason."""
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
