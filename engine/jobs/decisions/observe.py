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
    """What is left of a run's process."""

    NONE = "none"
    """No run is open."""
    ALIVE = "alive"
    ORPHANED = "orphaned"
    """The driver is gone but processes it started are not."""
    GONE = "gone"
    """A run is open whose process has ended, wholly."""


@dataclass(frozen=True, slots=True)
class Maintenance:
    """Work on a job's state directory between two runs, done by a process of its own."""

    task: MaintenanceTask
    state: Literal["running", "done", "failed"]
    failure: Failure | None = None
    stillness: timedelta = timedelta()
    """The time since its processes came on last."""
    age: timedelta = timedelta()
    """The time since it was begun."""
    size: int = 0
    """Bytes of what it works on, as it was begun."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One look at a job. `silence` is the time since its driver last called, or was launched, or was adopted."""

    process: Process = Process.NONE
    silence: timedelta = timedelta()
    stillness: timedelta = timedelta()
    """The time since its work last showed that it is alive."""
    is_up: bool = False
    """Whether the driver has said that it runs."""
    step: str | None = None
    """What its start is at."""
    ending: str | None = None
    """How its process has ended, where that is known: what follows the word `driver` in a sentence."""
    goodbye: Goodbye | None = None
    maintenance: Maintenance | None = None
    watch: timedelta = timedelta.max
    """For how long the control plane has been there without a break: what it ordered before, nobody may have heard."""
