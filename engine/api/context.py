"""What the handlers work with, made once when the control plane starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request

from engine.api.admission import Admission
from engine.api.waiting_requests import Changes
from engine.instants import Clock
from engine.jobs.data_directory import DataDirectory
from engine.jobs.spec import PlannedQuery
from engine.store.database import Database
from engine.store.savepoints import Savepoint


@dataclass(frozen=True, slots=True)
class SavepointContent:
    """What a savepoint holds, once it is complete."""

    epoch: int
    watermark: datetime | None
    parallelism: int
    bytes: int
    version: int | None = None
    """The pipeline's version that the state belongs to."""


PlanQuery = Callable[[str, Sequence[str]], PlannedQuery]
"""Plans a query with its UDFs; raises ScriptRefused."""
TakeSavepoint = Callable[[Path, Savepoint, Mapping[str, int]], SavepointContent]
"""Takes a savepoint of a state directory, given the pipeline's versions by fingerprint; raises EngineError."""


@dataclass(slots=True)
class LastCalls:
    """When each run last called home. Kept in memory: after a restart every run gets its full time again."""

    _at: dict[str, tuple[int, datetime]] = field(default_factory=dict)
    _signs: dict[str, tuple[int, int | None, datetime]] = field(default_factory=dict)

    def record(self, job_id: str, generation: int, at: datetime) -> None:
        """A run has called."""
        self._at[job_id] = (generation, at)

    def record_signs(self, job_id: str, generation: int, signs: int | None, at: datetime) -> None:
        """A run has said how many signs of life its work has shown so far. One of an earlier version does not know:
        then its call is one."""
        match self._signs.get(job_id):
            case (newest, count, _) if newest == generation and count == signs is not None:
                return
        self._signs[job_id] = (generation, signs, at)

    def last_sign(self, job_id: str, generation: int) -> datetime | None:
        """When the work of this run last showed that it is alive, if it has."""
        match self._signs.get(job_id):
            case (newest, _, at) if newest == generation:
                return at
        return None

    def last(self, job_id: str, generation: int) -> datetime | None:
        """When this run last called, if it has."""
        match self._at.get(job_id):
            case (newest, at) if newest == generation:
                return at
        return None


@dataclass(frozen=True, slots=True)
class Context:
    """The parts of a control plane that requests are answered with."""

    database: Database
    directory: DataDirectory
    clock: Clock
    wake: Callable[[], None]
    """Makes the controller look again now."""
    changes: Changes
    last_calls: LastCalls
    plan: PlanQuery
    take: TakeSavepoint
    version: str
    instance: str
    max_query_bytes: int = 1024 * 1024
    long_poll_max: timedelta = timedelta(seconds=55)
    settle_wait: timedelta = timedelta(seconds=5)
    """How long a request for a savepoint is held in the hope that it completes."""
    in_hand: dict[str, Savepoint] = field(default_factory=dict)
    """The savepoints that are being taken, by their ids."""
    admission: Admission = field(default_factory=Admission)
    """The named tokens that are let in."""
    workers: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(2, "savepoint"))

    def changed(self, pipeline_id: str) -> None:
        """Something else is desired: wake the controller, and the requests that wait for the pipeline."""
        self.wake()
        self.changes.notify(pipeline_id)


def _context(request: Request) -> Context:
    context: Context = request.app.state.context
    return context


ContextDep = Annotated[Context, Depends(_context)]
"""The context, as handlers take it."""
