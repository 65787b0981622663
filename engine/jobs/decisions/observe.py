"""Observations of a job from outside. They change nothing.

Actions on a job. Each is a value; the controller executes it.
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
    """Record that the driver has reported that it is running."""


@dataclass(frozen=True, slots=True)
class ForgetFailures:
    """Reset the count of failures, because the run is healthy."""


@dataclass(frozen=True, slots=True)
class Drain:
    """Ask the driver to end; the job's state says how."""

    to: Literal[State.CHECKPOINT_STOPPING, State.STOPPING, State.RESCALING]


@dataclass(frozen=True, slots=True)
class Kill:
    """Kill the run's processes; the next action is decided when they are gone."""

    to: State
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Repartition:
    """Repartition the state for another parallelism."""

    parallelism: int


@dataclass(frozen=True, slots=True)
class RestoreSavepoint:
    """Replace the state by a savepoint."""

    restore: Restore


MaintenanceTask: TypeAlias = Repartition | RestoreSavepoint
"""Work on a state directory between two runs."""


@dataclass(frozen=True, slots=True)
class EndMaintenance:
    """Kill the processes of maintenance that hangs; it has failed once they are gone."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class AcceptMaintenance:
    """Record that maintenance has succeeded."""

    task: MaintenanceTask


@dataclass(frozen=True, slots=True)
class AbandonRescale:
    """Continue with the old parallelism, because the state could not be repartitioned and is unchanged."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Recover:
    """Restart at `retry_at`."""

    failure: Failure
    failures: int
    retry_at: datetime
    outages: int = 0
    failure_times: tuple[datetime, ...] = ()
    """Times of failures with unknown causes, as far as they still count."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Record that the job has failed, without further restarts."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Finish:
    """Record that the input has ended and all output is written."""


@dataclass(frozen=True, slots=True)
class MarkStopped:
    """Record that the job has stopped as requested."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing for now."""


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
