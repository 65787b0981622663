"""What OpenLineage was told of the runs of a job. It is written down after it was told, so that a control plane that is
killed in between tells the same once more: who listens knows a run by its id, and takes that for one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Stage = Literal["new", "begun", "up", "over"]
"""How much of a run was told: nothing, that it was launched, that it works, or that it has ended."""


@dataclass(frozen=True, slots=True)
class ToldRun:
    """A run of a job, and what was told of it. All runs before it are told of to their ends."""

    job_id: str
    pipeline_id: str
    name: str
    """What the pipeline was called when it was launched."""
    generation: int
    version: int
    launched_at: datetime
    stage: Stage = "new"
    epoch: int | None = None
    """The newest epoch that was told."""
    told_at: datetime | None = None
    """When its epochs were told of last."""
    certificate: int = 0
    """The number of the newest certificate that was told, of the pipeline and not only of this run."""
    certificate_at: datetime | None = None
    """When that was given. Numbers tell those of one instant apart, and count for no more."""
