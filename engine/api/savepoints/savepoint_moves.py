"""Export and import savepoints.

An import is recorded before its first file is copied, in the state of deleted savepoints. So it is invisible, and a
control plane that dies meanwhile removes it at its next start. It becomes visible once all files are verified.

Long-running tasks on a savepoint. A request starts one, and is held for a moment.

    POST .../verify    starts a task, and responds after some seconds: 200 it is done, 202 it continues
    GET                shows the task, until the control plane ends

A task that ends with its control plane has changed nothing, and can be requested again.
"""

from __future__ import annotations

from concurrent.futures import wait
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from engine.api import answers
from engine.api.http.bodies import Body
from engine.api.http.change_request import ChangeRequestDep
from engine.api.http.problems import ContextDep, refusals
from engine.control.context import Context
from engine.control.savepoints.savepoint_holds import SavepointTask, TaskKind
from engine.control.savepoints.savepoint_removal import finish
from engine.control.savepoints.savepoint_tests import Work, start, verify_savepoint
from engine.errors import (
    PlaceError,
    RequestError,
    SavepointNotFoundError,
)
from engine.jobs import disk
from engine.jobs.decisions.status import JobEvent
from engine.jobs.disk import DataDirectory
from engine.store import savepoints
from engine.store.jobs import events
from engine.store.pipelines import pipelines, versions
from engine.store.savepoints import Savepoint
from engine.values.instants import from_micros

if TYPE_CHECKING:
    from engine.checkpoints.manifest import SavepointManifest

ROUTER = APIRouter(prefix="/pipelines/{pipeline}", tags=["savepoints"], responses=refusals(404))


class PlaceRequest(Body):
    """A location outside the control plane."""

    place: str = Field(
        min_length=1,
        max_length=2048,
        description="`file:///folder` of the control plane's machine, `s3://bucket/prefix`, or "
        "`s3::https://endpoint/bucket/prefix`; a bucket is asked with the control plane's own credentials.",
    )


class ExportRequest(PlaceRequest):
    """Location to which a savepoint is copied."""

    base: str | None = Field(
        default=None,
        min_length=1,
        max_length=2048,
        description="The place of an earlier export; existing files are not sent again: on a disk it gets a "
        "second name, in a bucket the server copies it. Either copy can be deleted without the other.",
    )


class ImportRequest(PlaceRequest):
    """Location from which a savepoint is copied."""

    label: str | None = Field(default=None, max_length=256, description="What to call it; by default as it was.")


class ImportAnswer(BaseModel):
    """Progress of an import."""

    id: str = Field(description="What the savepoint is called here.")
    task: answers.SavepointTask = Field(description="What has become of the import.")
    savepoint: answers.Savepoint | None = Field(description="The savepoint, once all of it is here.")


@ROUTER.post(
    "/savepoints/{savepoint}/export",
    status_code=202,
    response_model=answers.Savepoint,
    responses={200: {"model": answers.Savepoint}, **refusals(400, 409, 412)},
)
def export(
    pipeline: str, savepoint: str, body: ExportRequest, request: ChangeRequestDep, context: ContextDep
) -> Response:
    """Export a savepoint to another location, completely or not at all. An existing copy is unchanged."""
    check_place(context.directory, body.place)
    if body.base is not None:
        check_place(context.directory, body.base)
    with context.database.reading() as connection:
        record = pipelines.get(connection, pipeline)
        request.check(record)
        stored = savepoints.get(connection, record.id, savepoint)
    return begin(context, stored, "export", lambda held: _export(context, held, record.job_id, body, request.who))


@ROUTER.post(
    "/savepoints/import",
    status_code=202,
    response_model=ImportAnswer,
    responses={200: {"model": ImportAnswer}, **refusals(400, 409, 412)},
)
def import_one(pipeline: str, body: ImportRequest, request: ChangeRequestDep, context: ContextDep) -> Response:
    """Import a savepoint from another location, completely or not at all. It is pinned, and gets a new id."""
    check_place(context.directory, body.place)
    with context.database.reading() as connection:
        record = pipelines.get(connection, pipeline)
        request.check(record)
    fresh = Savepoint(
        disk.make("sp"),
        record.id,
        body.label,
        context.clock(),
        creator=request.caller,
        pinned=True,
        reason=f"imported from {body.place}",
    )
    context.holds.begin(fresh.id, SavepointTask("import", context.clock()))
    future = context.readers.submit(_run_import, context, fresh, record.job_id, body.place, request.who)
    wait([future], context.settle_wait.total_seconds())
    return _answer(context, record.id, fresh.id)


@ROUTER.get("/savepoint-imports/{savepoint}", response_model=ImportAnswer, responses={202: {"model": ImportAnswer}})
def get_import(pipeline: str, savepoint: str, context: ContextDep) -> Response:
    """Show the progress of an import; forgotten when the control plane ends."""
    with context.database.reading() as connection:
        record = pipelines.get(connection, pipeline)
    return _answer(context, record.id, savepoint)


def check_place(directory: DataDirectory, place: str) -> None:
    """Raise for an invalid location, or one in which the control plane stores its own data."""
    from engine.checkpoints.places import Directory, open_place  # noqa: PLC0415 - it brings what a server need not have

    opened = open_place(place)
    if isinstance(opened, Directory) and Path(opened.root).resolve().is_relative_to(directory.root.resolve()):
        raise PlaceError("the place is inside the data directory", hint="choose one on another disk")


def _export(context: Context, stored: Savepoint, job_id: str, body: ExportRequest, who: str | None) -> str:
    from engine.checkpoints.places import open_place  # noqa: PLC0415
    from engine.checkpoints.relocate import export_savepoint  # noqa: PLC0415 - it brings what a server need not have

    folder = context.directory.savepoint(stored.pipeline_id, stored.id)
    done = export_savepoint(folder, open_place(body.place), None if body.base is None else open_place(body.base))
    shared = "" if body.base is None else f", {done.shared} of them shared with {body.base}"
    told = f"{len(done.manifest.files)} files are at {body.place}{shared}"
    _tell(context, job_id, f"savepoint {stored.id} is exported: {told}", who)
    return told


def _run_import(context: Context, fresh: Savepoint, job_id: str, place: str, who: str | None) -> None:
    reason = f"it is imported from {place}"
    context.holds.add(fresh.id, reason)

    def bring() -> str:
        message = _import(context, fresh, place)
        _tell(context, job_id, f"savepoint {fresh.id} is imported: {message}", who)
        return message

    try:
        context.holds.carry_out(fresh.id, bring)
    finally:
        context.holds.end(fresh.id, reason)
        if context.holds.tasks[fresh.id].state != "done":
            finish(context, fresh.pipeline_id, [fresh.id])


def _import(context: Context, fresh: Savepoint, place: str) -> str:
    """Copy the whole savepoint; it is hidden until that is done."""
    from engine.checkpoints.places import open_place  # noqa: PLC0415
    from engine.checkpoints.relocate import import_savepoint  # noqa: PLC0415 - it brings what a server need not have

    with context.database.writing() as connection:
        newest = pipelines.get(connection, fresh.pipeline_id).version
        savepoints.add(connection, fresh)
        savepoints.mark_deleting(connection, fresh.id)
    state = context.directory.state(fresh.pipeline_id)

    def version_of(folder: Path, outside: SavepointManifest) -> int | None:
        return _version_of(context, fresh.pipeline_id, newest, folder, outside)

    manifest = import_savepoint(open_place(place), state, fresh.id, version_of, fresh.reason or "")
    settled = replace(
        fresh,
        state="completed",
        label=fresh.label or manifest.label,
        epoch=manifest.epoch,
        watermark=None if manifest.watermark is None else from_micros(manifest.watermark),
        parallelism=manifest.parallelism,
        bytes=sum(file.bytes for file in manifest.files),
        version=manifest.origin.version,
    )
    with context.database.writing() as connection:
        savepoints.settle(connection, settled)
        savepoints.note_whole(connection, fresh.id, context.clock(), is_proven=False)
    return f"{len(manifest.files)} files are here"


def _version_of(
    context: Context, pipeline_id: str, newest: int, folder: Path, outside: SavepointManifest
) -> int | None:
    """Return the version of a pipeline to which an imported savepoint's state belongs, if it has had one. The recorded
    number counts only if the savepoint is the pipeline's own."""
    from engine.checkpoints.saved_query import read_saved_query  # noqa: PLC0415 - as above

    known = _histories(context.directory.state(pipeline_id))
    number = outside.origin.version if outside.lineage in known else None
    with context.database.reading() as connection:
        return versions.of_saved(connection, pipeline_id, newest, read_saved_query(folder, outside), number)


def _histories(state: Path) -> frozenset[str]:
    """Return the lineages that have led to a state; none if there is no state."""
    from engine.checkpoints.layout import StatePaths  # noqa: PLC0415 - as above
    from engine.checkpoints.lineage import read_lineage  # noqa: PLC0415 - as above

    path = StatePaths(state).lineage
    if not path.exists():
        return frozenset()
    lineage = read_lineage(path)
    return frozenset({lineage.id, *dict(lineage.parents)})


def _answer(context: Context, pipeline_id: str, savepoint_id: str) -> Response:
    task = context.holds.tasks.get(savepoint_id)
    if task is None or task.kind != "import":
        raise SavepointNotFoundError(
            f"nothing is known of an import {savepoint_id!r}", hint="the control plane may have ended; import it again"
        )
    with context.database.reading() as connection:
        stored = savepoints.find(connection, pipeline_id, savepoint_id)
    shown = ImportAnswer(
        id=savepoint_id,
        task=answers.savepoint_task(task),
        savepoint=None if stored is None else answers.savepoint(stored, context.directory),
    )
    return JSONResponse(shown.model_dump(mode="json"), 202 if task.state == "running" else 200)


def _tell(context: Context, job_id: str, message: str, who: str | None) -> None:
    with context.database.writing() as connection:
        events.add(connection, JobEvent(job_id, context.clock(), "info", message, who=who))


SAVEPOINT_TASKS_ROUTER = APIRouter(prefix="/pipelines/{pipeline}", tags=["savepoints"], responses=refusals(404))


@SAVEPOINT_TASKS_ROUTER.post(
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
    return begin(context, stored, kind, lambda held: verify_savepoint(context, held, record.job_id, drill=drill))


def begin(context: Context, stored: Savepoint, kind: TaskKind, work: Work) -> Response:
    """Start a task on a savepoint. If the same task is running already, wait for it."""
    if (future := start(context, stored, kind, work)) is not None:
        wait([future], context.settle_wait.total_seconds())
    task = context.holds.tasks[stored.id]
    with context.database.reading() as connection:
        current = savepoints.get(connection, stored.pipeline_id, stored.id)
    shown = answers.savepoint(current, context.directory, task).model_dump(mode="json")
    return JSONResponse(shown, 202 if task.state == "running" else 200)
