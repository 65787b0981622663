"""Run a restore test in a process of its own, which has Spark."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from engine.checkpoints.layout import read_json
from engine.control.context import SavepointContent
from engine.delivery.disk_errors import has_no_room
from engine.errors import DamagedSavepointError, DiskFullError, DriverDiedError, SavepointError
from engine.jobs.disk import DataDirectory
from engine.jobs.processes import processes
from engine.jobs.processes.driver_environment import driver_environment
from engine.store.savepoints import Savepoint
from engine.values.instants import from_micros, now


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
