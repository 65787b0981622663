"""What can be seen of a job from outside. Seeing changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Literal

from engine.jobs.decisions.actions import MaintenanceTask
from engine.jobs.decisions.status import Failure, Goodbye


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
