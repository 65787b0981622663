"""Verify savepoints and restore them on trial: on threads of the control plane, and in a process that has Spark."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from engine.checkpoints.layout import read_json
from engine.control.context import Context, SavepointContent
from engine.control.savepoints.savepoint_holds import SavepointTask, TaskKind
from engine.control.savepoints.savepoint_use import holding
from engine.delivery.disk_errors import has_no_room
from engine.errors import (
    DamagedSavepointError,
    DiskFullError,
    DriverDiedError,
    PipelineBusyError,
    SavepointError,
    SavepointNotFoundError,
)
from engine.jobs.actors import CONTROL_PLANE
from engine.jobs.decisions.status import JobEvent
from engine.jobs.disk import DataDirectory
from engine.jobs.processes import processes
from engine.jobs.processes.driver_environment import driver_environment
from engine.store import savepoints
from engine.store.jobs import events
from engine.store.savepoints import Savepoint
from engine.values.instants import from_micros, now

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


@dataclass(frozen=True, slots=True)
class Drills:
    """Runs restore tests of savepoints below a data directory, which only one control plane uses."""

    directory: DataDirectory
    inherited: tuple[str, ...] = ()
    """Additional inherited variables of the process."""
    limit: timedelta = timedelta(hours=1)
    """Timeout of a restore test."""
    _mark: str = field(default_factory=lambda: f"drill/{uuid.uuid4().hex}")

    def play(self, savepoint: Path) -> str:
        """Restore a savepoint into a scratch directory and read all its state; return a description of what was read.
        Raise DamagedSavepointError, or another EngineError if the test could not run."""
        scratch = self.directory.drills
        shutil.rmtree(scratch, ignore_errors=True)  # of a control plane that has died
        scratch.mkdir(parents=True)
        try:
            return self._play(savepoint, scratch)
        finally:
            processes.kill(processes.marked(self._mark))
            shutil.rmtree(scratch, ignore_errors=True)

    def _play(self, savepoint: Path, scratch: Path) -> str:
        result = scratch / "result.json"
        command = [sys.executable, "-m", "engine.driver.drill", str(savepoint), str(scratch / "work"), str(result)]
        environment = {**driver_environment(os.environ, self.inherited), processes.MARK: self._mark}
        with (scratch / "drill.log").open("wb") as log:
            try:
                code = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=environment,
                    timeout=self.limit.total_seconds(),
                    start_new_session=True,
                    check=False,
                ).returncode
            except subprocess.TimeoutExpired as error:
                raise DriverDiedError(f"the drill is not over after {self.limit}", hint="is the disk slow?") from error
        if (found := read_json(result)) is None:
            raise _untried(scratch, code)
        if "code" in found:
            raise _error_of(str(found["code"]), str(found["message"]))
        return f"{found['rows']} rows of {found['operators']} operators were read"


def _error_of(code: str, message: str) -> SavepointError:
    return DamagedSavepointError(message) if code == DamagedSavepointError.code else SavepointError(message)


def _untried(scratch: Path, code: int) -> DriverDiedError | DiskFullError:
    if has_no_room(scratch):
        return DiskFullError(f"the disk of {scratch} is full", hint="a drill needs room for a copy of the savepoint")
    words = (scratch / "drill.log").read_text(errors="replace").strip().splitlines()
    return DriverDiedError(
        f"the drill ended with exit code {code}: {words[-1] if words else 'without a word'}",
        hint="nothing is known of the savepoint; try again",
    )


def take_savepoint(state: Path, stored: Savepoint, versions: Mapping[str, int]) -> SavepointContent:
    """Copy a savepoint, and return the copy's manifest."""
    from engine.checkpoints import savepoints  # noqa: PLC0415 - it brings pyarrow, which a server need not wait for

    request = savepoints.Request(stored.id, stored.label, stored.creator, stored.reason, versions)
    manifest = savepoints.take_requested(state, request, now)
    return SavepointContent(
        epoch=manifest.epoch,
        watermark=None if manifest.watermark is None else from_micros(manifest.watermark),
        parallelism=manifest.parallelism,
        bytes=sum(file.bytes for file in manifest.files),
        version=manifest.origin.version or versions.get(manifest.fingerprint),
    )
