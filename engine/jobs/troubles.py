"""Current failures of the control plane that block jobs, in memory, because nothing can be stored on a full disk.

17:00:00    an epoch is reported; the database cannot store it     every job that is not stopped shows data.disk_full
17:05:00    space is freed
17:05:01    another epoch is reported and stored                   each job shows its own state again
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from engine.delivery.disk_errors import has_no_room, is_disk_full
from engine.errors import DiskFullError, DriverDiedError, StoreUnavailableError
from engine.jobs.actors import JobRecord
from engine.jobs.decisions.intend import is_settled
from engine.jobs.decisions.status import Failure, failure_of

_JOBS_GO_ON = "the jobs go on, and nothing is lost; until then nothing that they report is stored"


@dataclass(slots=True)
class Troubles:
    """The newest failed write to the database, and the newest failed step of each pipeline. Thread-safe."""

    store: Failure | None = None
    """Why the database cannot be written; None once a later write has succeeded."""
    _steps: dict[str, Failure] = field(default_factory=dict)

    def block(self, pipeline_id: str, failure: Failure) -> None:
        """Record why the next step of a pipeline cannot be taken."""
        self._steps[pipeline_id] = failure

    def unblock(self, pipeline_id: str) -> None:
        """Forget the failed step of a pipeline, which has succeeded."""
        self._steps.pop(pipeline_id, None)

    def of(self, record: JobRecord) -> Failure | None:
        """Return why a job cannot be advanced, or its progress not be stored; None if it can, and for a stopped job."""
        if record.status.state.is_terminal and is_settled(record.pipeline, record.status):
            return None
        return self._steps.get(record.pipeline.id) or self.store


def unwritable_store(database: Path, message: str) -> Failure:
    """Return the failure of a write that the database has refused. SQLite reports some full disks as faulty."""
    if "full" in message or has_no_room(database):
        full = f"the database {database} cannot be written: {message}"
        return failure_of(DiskFullError(full, hint=f"free space on its disk; {_JOBS_GO_ON}"))
    unavailable = f"the database {database} cannot be written: {message}"
    return failure_of(StoreUnavailableError(unavailable, hint=f"check its disk and its permissions; {_JOBS_GO_ON}"))


def unstartable(what: str, error: OSError) -> Failure:
    """Return the failure of a process that this machine could not start."""
    if is_disk_full(error):
        full = f"{error.filename or 'the data directory'} cannot be written: {error.strerror}"
        return failure_of(DiskFullError(full, hint="free space on the disk; nothing is lost"))
    message = f"the {what} cannot be started: {error.strerror or error}"
    return failure_of(DriverDiedError(message, hint="see what this machine lacks, such as memory or processes"))
