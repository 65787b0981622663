"""What can be seen of a job from outside. Seeing changes nothing.

What can be done about a job. Each action is a value; the controller carries it out.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal, TypeAlias

from engine.jobs.decisions.spec import Restore
from engine.jobs.decisions.states import State
from engine.jobs.decisions.status import Failure, Goodbye


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


class Process(StrEnum):
    """State of a run's process."""

    NONE = "none"
    """No run is open."""
    ALIVE = "alive"
    ORPHANED = "orphaned"
    """The driver is gone but processes it started are not."""
    GONE = "gone"
    """A run is open whose processes have all ended."""


@dataclass(frozen=True, slots=True)
class Maintenance:
    """Maintenance of a job's state directory between two runs, in a process of its own."""

    task: MaintenanceTask
    state: Literal["running", "done", "failed"]
    failure: Failure | None = None
    stillness: timedelta = timedelta()
    """Time since its processes last made progress."""
    age: timedelta = timedelta()
    """Time since it began."""
    size: int = 0
    """Size of the state at its beginning, in bytes."""


@dataclass(frozen=True, slots=True)
class Observation:
    """Observation of a job. `silence` is the time since its driver last reported, or was launched, or was adopted."""

    process: Process = Process.NONE
    silence: timedelta = timedelta()
    stillness: timedelta = timedelta()
    """Time since its work last made progress."""
    is_up: bool = False
    """Whether the driver has reported that it is running."""
    step: str | None = None
    """Step of its start."""
    ending: str | None = None
    """How its process has ended, if known: the predicate of a sentence about the driver."""
    goodbye: Goodbye | None = None
    maintenance: Maintenance | None = None
    watch: timedelta = timedelta.max
    """How long the control plane has been running without interruption: earlier commands may not have arrived."""
