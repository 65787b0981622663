"""What the controller asks of the store. A write based on an old reading is refused, never merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.jobs.decisions.spec import Pipeline, Version
from engine.jobs.decisions.status import JobEvent, Run, Status


@dataclass(frozen=True, slots=True)
class JobRecord:
    """All that is written down of one pipeline. `run` is the newest run if it has not been seen to end."""

    pipeline: Pipeline
    status: Status
    run: Run | None


class Records(Protocol):
    """Pipelines, jobs and runs, durable."""

    def active(self) -> Sequence[JobRecord]:
        """Return the jobs that may need an action."""

    def version(self, pipeline_id: str, number: int) -> Version:
        """A version of a pipeline. It has `force` and `upgrade` only until a run of it was up: then the state is its
        own, and what it would give up or take over is not the other query's any more."""

    def secrets(self, pipeline_id: str) -> Mapping[str, str]:
        """The secrets that a pipeline was deployed with, by their names."""

    def save(self, before: JobRecord, after: JobRecord, event: JobEvent | None) -> bool:
        """Write what differs, in one transaction; False, and nothing written, when the record is not `before` now."""

    def note_commit(self, job_id: str, lineage: str, epoch: int) -> None:
        """Write down that an epoch of that history is committed, if no report has told of it or a later one."""

    def set_process(self, run: Run, pid: int, born: str) -> None:
        """Write down which process a run is."""
