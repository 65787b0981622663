"""Requests for upgrade plans and rollbacks, and their responses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from airflow_provider_arroyo.answers import Pipeline, read
from airflow_provider_arroyo.calls import ApiCall, Json, UpgradeWish, path_of


@dataclass(frozen=True, slots=True)
class UpgradePlan:
    """Effect of a new script on a pipeline's state; nothing was changed."""

    is_refused: bool
    loses_nothing: bool
    text: str
    id: str | None = None
    plan: dict[str, Any] = field(default_factory=dict)
    markdown: str = ""


@dataclass(frozen=True, slots=True)
class RolledBackPipeline(Pipeline):
    """A requested rollback of a pipeline: the version, the savepoint, and the sinks that stay ahead."""

    rollback: dict[str, Any] = field(default_factory=dict)


def plan_upgrade(
    pipeline: str, query: str, udfs: Sequence[str] | None = None, wish: UpgradeWish | None = None
) -> ApiCall[UpgradePlan]:
    """Preview what a deployment of this script would do to the pipeline's state."""
    chosen = wish or UpgradeWish()
    body: dict[str, Json] = {"query": query, "keep_state": list(chosen.keep_state), "reset": list(chosen.reset)}
    if chosen.hold_back:
        body["hold_back"] = list(chosen.hold_back)
    if udfs is not None:
        body["udfs"] = list(udfs)
    return ApiCall("POST", f"{path_of(pipeline)}/plan", partial(read, UpgradePlan), body=body)


def roll_back_pipeline(pipeline: str, to: int | None, *, key: str) -> ApiCall[RolledBackPipeline]:
    """Take a pipeline back to an earlier version with its state; the answer comes before it is done."""
    body: dict[str, Json] = {} if to is None else {"to": to}
    return ApiCall("POST", f"{path_of(pipeline)}/rollback", partial(read, RolledBackPipeline), body=body, key=key)
