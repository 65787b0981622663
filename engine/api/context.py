"""What the handlers work with, made once when the control plane starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request

from engine.api.notifications import Changes
from engine.instants import Clock
from engine.jobs.data_directory import Places
from engine.store.database import Database


@dataclass(frozen=True, slots=True)
class Planned:
    """What planning a query tells: what its state is bound to, and its picture as JSON text."""

    fingerprint: str
    graph: str


@dataclass(frozen=True, slots=True)
class Taken:
    """What a savepoint holds, once it is complete."""

    epoch: int
    watermark: datetime | None
    parallelism: int
    bytes: int


Plan = Callable[[str, Sequence[str]], Planned]
"""Plans a query with its UDFs; raises ScriptRefused."""
Take = Callable[[Path, str, str | None], Taken]
"""Takes a savepoint of a state directory under an id and a label; raises EngineError."""


@dataclass(slots=True)
class LastHeard:
    """When each run last called home. Kept in memory: after a restart every run gets its full time again."""

    _at: dict[str, tuple[int, datetime]] = field(default_factory=dict)

    def note(self, job_id: str, generation: int, at: datetime) -> None:
        """A run has called."""
        self._at[job_id] = (generation, at)

    def last(self, job_id: str, generation: int) -> datetime | None:
        """When this run last called, if it has."""
        heard = self._at.get(job_id)
        return heard[1] if heard is not None and heard[0] == generation else None


@dataclass(frozen=True, slots=True)
class Context:
    """The parts of a control plane that requests are answered with."""

    database: Database
    places: Places
    clock: Clock
    wake: Callable[[], None]
    """Makes the controller look again now."""
    changes: Changes
    heard: LastHeard
    plan: Plan
    take: Take
    version: str
    instance: str
    max_query_bytes: int = 1024 * 1024
    long_poll_max: timedelta = timedelta(seconds=55)
    settle_wait: timedelta = timedelta(seconds=5)
    """How long a request for a savepoint is held in the hope that it completes."""
    workers: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(2, "savepoint"))

    def changed(self, pipeline_id: str) -> None:
        """Something is wanted that was not: let the controller and those who wait know."""
        self.wake()
        self.changes.ring(pipeline_id)


def _context(request: Request) -> Context:
    context: Context = request.app.state.context
    return context


Given = Annotated[Context, Depends(_context)]
"""The context, as handlers take it."""
