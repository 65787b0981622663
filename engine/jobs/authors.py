"""Who has asked for a step of the control plane, for the event that tells of it.

ann deploys      Created to Scheduling, Scheduling to Running      ann
the driver dies  Running to Recovering, Recovering to Scheduling   control plane
bob stops it     Scheduling to CheckpointStopping, then to Stopped bob
"""

from __future__ import annotations

from engine.jobs.decisions.actions import (
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
from engine.jobs.decisions.states import State
from engine.jobs.records import JobRecord

CONTROL_PLANE = "control plane"
"""Who is behind what nobody has asked for."""


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
