"""Actor of a step of the control plane, for its event.

ann deploys      Created to Scheduling, Scheduling to Running      ann
the driver dies  Running to Recovering, Recovering to Scheduling   control plane
bob stops it     Scheduling to CheckpointStopping, then to Stopped bob

Interface of the store for the controller. A write based on an old read is refused, never merged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.jobs.decisions.observe import (
    AcceptMaintenance,
    Action,
    Drain,
    Kill,
    Launch,
    MarkRunning,
    MarkStopped,
    Repartition,
    RestoreSavepoint,
)
from engine.jobs.decisions.spec import Pipeline, Version
from engine.jobs.decisions.states import State
from engine.jobs.decisions.status import JobEvent, Run, Status

CONTROL_PLANE = "control plane"
"""Actor of a step that no user has requested."""


def author_of(record: JobRecord, action: Action) -> str:
    """Return who caused a step that follows from a record."""
    asker = record.pipeline.asked_by
    return asker if asker is not None and _is_asked_for(record, action) else CONTROL_PLANE


def _is_asked_for(record: JobRecord, action: Action) -> bool:
    pipeline, status = record.pipeline, record.status
    match action:
        case Drain() | Repartition() | RestoreSavepoint() | AcceptMaintenance() | MarkStopped():
            return True
        case Kill(_, None):
            return pipeline.stop == "force" or (pipeline.stop == "none" and pipeline.restart_now)
        case Launch():
            is_asked_again = pipeline.restarts_asked > status.restarts_done or pipeline.version != status.version
            return status.state is not State.RECOVERING or is_asked_again
        case MarkRunning():
            return not (status.failures or status.outages)
    return False


@dataclass(frozen=True, slots=True)
class JobRecord:
    """All records of one pipeline. `run` is the newest run if it has not been seen to end."""

    pipeline: Pipeline
    status: Status
    run: Run | None


class Records(Protocol):
    """Pipelines, jobs and runs, durable."""

    def active(self) -> Sequence[JobRecord]:
        """Return the jobs that may need an action."""

    def version(self, pipeline_id: str, number: int) -> Version:
        """Return a version of a pipeline. It has `force` and `upgrade` only until a run of it was up: then the state is
        its own, and nothing is left to discard or take over."""

    def secrets(self, pipeline_id: str) -> Mapping[str, str]:
        """Return the secrets of a pipeline, by their names."""

    def save(self, before: JobRecord, after: JobRecord, event: JobEvent | None) -> bool:
        """Write the differences, in one transaction; return False, without writing, if the stored record is not
        `before`."""

    def note_commit(self, job_id: str, lineage: str, epoch: int) -> None:
        """Record that an epoch of that lineage is committed, if no report has named it or a later one."""

    def set_process(self, run: Run, pid: int, born: str) -> None:
        """Record the process of a run."""
