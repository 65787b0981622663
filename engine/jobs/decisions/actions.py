"""What can be done about a job. Each action is a value; the controller carries it out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from engine.jobs.decisions.spec import Restore
from engine.jobs.decisions.states import State
from engine.jobs.decisions.status import Failure


@dataclass(frozen=True, slots=True)
class Launch:
    """Start the next generation."""


@dataclass(frozen=True, slots=True)
class MarkRunning:
    """The driver has said that it runs."""


@dataclass(frozen=True, slots=True)
class ForgetFailures:
    """The run is healthy: what failed before it counts no more."""


@dataclass(frozen=True, slots=True)
class Drain:
    """Ask the driver to end; it learns how from the state the job is then in."""

    to: Literal[State.CHECKPOINT_STOPPING, State.STOPPING, State.RESCALING]


@dataclass(frozen=True, slots=True)
class Kill:
    """End the run's processes now; what follows is decided when they are gone."""

    to: State
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Repartition:
    """Lay the state out for another parallelism."""

    parallelism: int


@dataclass(frozen=True, slots=True)
class RestoreSavepoint:
    """Put a savepoint where the state is."""

    restore: Restore


MaintenanceTask: TypeAlias = Repartition | RestoreSavepoint
"""Work on a state directory between two runs."""


@dataclass(frozen=True, slots=True)
class EndMaintenance:
    """End the processes of work on the state that hangs; it has failed once they are gone."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class AcceptMaintenance:
    """Work on the state has succeeded."""

    task: MaintenanceTask


@dataclass(frozen=True, slots=True)
class AbandonRescale:
    """The state could not be laid out anew and is as it was: go on with the old parallelism."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Recover:
    """Start again at `retry_at`."""

    failure: Failure
    failures: int
    retry_at: datetime
    outages: int = 0
    failure_times: tuple[datetime, ...] = ()
    """When the job failed of unknown causes, as far as that still counts."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The job has failed for good."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Finish:
    """The input has ended and everything is written."""


@dataclass(frozen=True, slots=True)
class MarkStopped:
    """Nothing runs any more, as was asked."""


@dataclass(frozen=True, slots=True)
class Wait:
    """There is nothing to do now."""


Action: TypeAlias = (
    Launch
    | MarkRunning
    | ForgetFailures
    | Drain
    | Kill
    | Repartition
    | RestoreSavepoint
    | EndMaintenance
    | AcceptMaintenance
    | AbandonRescale
    | Recover
    | GiveUp
    | Finish
    | MarkStopped
    | Wait
)
