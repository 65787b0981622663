"""Requests that create copies of pipelines and hand over to them, and their responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from airflow_provider_arroyo.requests import ApiCall, Json, PipelineSpec, UpgradeWish, path_of, segment
from airflow_provider_arroyo.responses import Pipeline, read


@dataclass(frozen=True, slots=True)
class ForkedPipeline(Pipeline):
    """A new pipeline that starts from a savepoint of another pipeline."""

    forked_from: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReprocessedPipeline(Pipeline):
    """A new pipeline that reads another pipeline's input again."""

    reprocesses: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HandOver:
    """Progress of a hand-over to a pipeline that reads the input again."""

    pipeline: str
    copy_name: str
    step: str
    waits_for: str | None = None
    version: int | None = None


def fork_savepoint(
    savepoint: str, name: str, spec: PipelineSpec, wish: UpgradeWish, *, key: str
) -> ApiCall[ForkedPipeline]:
    """Create a pipeline that continues from a savepoint of another one."""
    parts = {part: value for part, value in spec.to_json().items() if part in ("query", "settings", "udfs")}
    secrets: dict[str, Json] = {} if spec.secrets is None else {"secrets": dict(spec.secrets)}
    body = {"name": name, **parts, **secrets, **wish.to_json()}
    return ApiCall("POST", f"/savepoints/{segment(savepoint)}/fork", partial(read, ForkedPipeline), body=body, key=key)


def reprocess(pipeline: str, wish: Mapping[str, Json], *, key: str) -> ApiCall[ReprocessedPipeline]:
    """Create a second pipeline that reads this one's input again and writes elsewhere."""
    return ApiCall("POST", f"{path_of(pipeline)}/reprocess", partial(read, ReprocessedPipeline), body=wish, key=key)


def hand_over(copy: str, *, accept_other_values: bool = False) -> ApiCall[HandOver]:
    """Request that a pipeline which reads another one's input again replaces it. Idempotent."""
    query: dict[str, str | int] = {"accept_other_values": "true"} if accept_other_values else {}
    return ApiCall("POST", f"{path_of(copy)}/hand-over", partial(read, HandOver), query=query)


def get_hand_over(copy: str) -> ApiCall[HandOver]:
    """Ask for the progress of the hand-over."""
    return ApiCall("GET", f"{path_of(copy)}/hand-over", partial(read, HandOver))
