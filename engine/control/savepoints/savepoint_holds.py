"""Savepoints that this process is using; see `savepoint_use`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Lock
from typing import Literal

from engine.errors import EngineError

LOG = logging.getLogger(__name__)
TaskKind = Literal["verify", "drill", "export", "import", "departure", "arrival"]
"""Kind of a long-running task on a savepoint, or on the state of a moving pipeline."""


@dataclass(frozen=True, slots=True)
class SavepointTask:
    """Newest task on a savepoint or a state in this process, and its result."""

    kind: TaskKind
    at: datetime
    state: Literal["running", "done", "failed"] = "running"
    message: str | None = None


@dataclass(slots=True)
class Holds:
    """Readers in this process, by savepoint."""

    removal: Lock = field(default_factory=Lock)
    """Serialises removals of files."""
    tasks: dict[str, SavepointTask] = field(default_factory=dict)
    """By savepoint, or by pipeline for a moving one."""
    _reasons: dict[str, list[str]] = field(default_factory=dict)
    _turn: Lock = field(default_factory=Lock)

    def begin(self, savepoint_id: str, task: SavepointTask) -> SavepointTask | None:
        """Record a task, unless one is running: then return that."""
        with self._turn:
            running = self.tasks.get(savepoint_id)
            if running is not None and running.state == "running":
                return running
            self.tasks[savepoint_id] = task
            return None

    def carry_out(self, name: str, work: Callable[[], str]) -> None:
        """Run the task that was recorded under a name, and record its outcome."""
        task = self.tasks[name]
        try:
            self.tasks[name] = replace(task, state="done", message=work())
        except EngineError as error:
            self.tasks[name] = replace(task, state="failed", message=error.message)
        except Exception as error:
            LOG.exception("%s: %s fails with an error of the control plane's own", name, task.kind)
            self.tasks[name] = replace(task, state="failed", message=f"{type(error).__name__}: {error}")

    def reason(self, savepoint_id: str) -> str | None:
        """Return why a savepoint is held, if it is."""
        reasons = self._reasons.get(savepoint_id)
        return reasons[0] if reasons else None

    def add(self, savepoint_id: str, reason: str) -> None:
        """Hold the savepoint; within a transaction that writes."""
        self._reasons.setdefault(savepoint_id, []).append(reason)

    def end(self, savepoint_id: str, reason: str) -> None:
        """Release the savepoint."""
        self._reasons[savepoint_id].remove(reason)
