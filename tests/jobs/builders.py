"""Short ways to say what a case is about."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from engine.errors import SourceUnavailableError
from engine.jobs.decisions.observe import Observation, Process
from engine.jobs.decisions.spec import Pipeline
from engine.jobs.decisions.states import State
from engine.jobs.decisions.status import Failure, Goodbye, Status, failure_of
from engine.jobs.processes.assignment import Assignment

T0 = datetime(2026, 1, 1, tzinfo=UTC)
FATAL = Failure("sql.unknown_column", "no column 'x'")
FLEETING = Failure("run.error", "the network was down")
OUTAGE = failure_of(SourceUnavailableError("Kafka at one:9092 does not answer"))


def wanted(**changes: Any) -> Pipeline:
    fields: dict[str, Any] = {
        "id": "pl_aaaaaaaaaaaaaaaa",
        "name": "orders",
        "job_id": "job_aaaaaaaaaaaaaaaa",
        "version": 1,
        "parallelism": 1,
        "created_at": T0,
    }
    return Pipeline(**{**fields, **changes})


def status(state: State, **changes: Any) -> Status:
    fields: dict[str, Any] = {
        "job_id": "job_aaaaaaaaaaaaaaaa",
        "pipeline_id": "pl_aaaaaaaaaaaaaaaa",
        "since": T0,
        "created_at": T0,
        "generation": 1,
        "version": 1,
        "parallelism": 1,
    }
    if state is State.CREATED:
        fields |= {"generation": 0, "version": None, "parallelism": None}
    return Status(state=state, **{**fields, **changes})


def assigned(folder: Path, **changes: Any) -> Assignment:
    """What a driver is to do whose files are all in a folder."""
    fields: dict[str, Any] = {
        "job_id": "job_a",
        "pipeline_id": "pl_a",
        "generation": 3,
        "key": "secret",
        "server_file": folder / "server.json",
        "lock": folder / "lock",
        "state_dir": folder,
        "name": "n",
        "query": "q",
    }
    return Assignment(**{**fields, **changes})


def nothing(**changes: Any) -> Observation:
    return Observation(**changes)


def alive(silence: int = 0, **changes: Any) -> Observation:
    return Observation(Process.ALIVE, timedelta(seconds=silence), **{"is_up": True, **changes})


def orphaned() -> Observation:
    return Observation(Process.ORPHANED)


def gone(outcome: str | None = None, failure: Failure | None = None) -> Observation:
    return Observation(Process.GONE, is_up=True, goodbye=None if outcome is None else Goodbye(outcome, failure))
