"""Requests about savepoints, and their responses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from airflow_provider_arroyo.requests import ApiCall, Json, path_of, segment
from airflow_provider_arroyo.responses import Instant, Pipeline, read


@dataclass(frozen=True, slots=True)
class SavepointTask:
    """Newest operation on a savepoint since the control plane was started."""

    kind: str
    state: Literal["running", "done", "failed"]
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Savepoint:
    """A stored copy of a checkpoint."""

    id: str
    state: Literal["pending", "completed", "failed"]
    label: str | None = None
    epoch: int | None = None
    watermark: Instant | None = None
    path: str | None = None
    bytes: int | None = None
    failure_message: str | None = None
    proven_at: Instant | None = None
    damage: str | None = None
    task: SavepointTask | None = None


def take_savepoint(pipeline: str, *, label: str | None, key: str) -> ApiCall[Savepoint]:
    """Request a savepoint; the answer may come before it is complete."""
    return ApiCall("POST", f"{path_of(pipeline)}/savepoints", partial(read, Savepoint), body={"label": label}, key=key)


def stop_with_savepoint(pipeline: str, *, label: str, key: str) -> ApiCall[Savepoint]:
    """Request a stop with a savepoint of the last epoch."""
    body = {"label": label, "stop": "checkpoint"}
    return ApiCall("POST", f"{path_of(pipeline)}/savepoints", partial(read, Savepoint), body=body, key=key)


def get_savepoint(pipeline: str, savepoint: str) -> ApiCall[Savepoint]:
    """Return a savepoint, by id."""
    return ApiCall("GET", f"{path_of(pipeline)}/savepoints/{segment(savepoint)}", partial(read, Savepoint))


def drill_savepoint(pipeline: str, savepoint: str) -> ApiCall[Savepoint]:
    """Request a restore test of a savepoint; the answer may come before it has ended."""
    path = f"{path_of(pipeline)}/savepoints/{segment(savepoint)}/verify"
    return ApiCall("POST", path, partial(read, Savepoint), query={"drill": "true"})


def restore_savepoint(
    pipeline: str, savepoint: str, *, allow_replay: bool, with_version: bool, key: str
) -> ApiCall[Pipeline]:
    """Restore a savepoint; the answer comes before that is done."""
    body: dict[str, Json] = {
        "savepoint_id": savepoint,
        "allow_replay": allow_replay,
        "with_version": with_version,
    }
    return ApiCall("POST", f"{path_of(pipeline)}/restore", partial(read, Pipeline), body=body, key=key)
