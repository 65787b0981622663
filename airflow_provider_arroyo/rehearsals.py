"""Requests about rehearsals, and their responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from airflow_provider_arroyo.requests import ApiCall, Json, path_of, segment
from airflow_provider_arroyo.responses import read


@dataclass(frozen=True, slots=True)
class RehearsalFailure:
    """Reason why a rehearsal has no result."""

    code: str
    message: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A rehearsal of a script; `report` has the differing rows once it is done."""

    id: str
    pipeline_id: str
    state: Literal["waiting", "running", "done", "failed", "stopped"]
    plan_id: str
    step: str | None = None
    differs: bool | None = None
    report: dict[str, Any] | None = None
    text: str | None = None
    failure: RehearsalFailure | None = None

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.state not in ("waiting", "running")


def rehearse(pipeline: str, wish: Mapping[str, Json], *, key: str) -> ApiCall[Rehearsal]:
    """Start a rehearsal of a script against the running one; the answer comes before it has ended."""
    return ApiCall("POST", f"{path_of(pipeline)}/rehearsals", partial(read, Rehearsal), body=wish, key=key)


def get_rehearsal(pipeline: str, rehearsal: str) -> ApiCall[Rehearsal]:
    """Return a rehearsal, by id."""
    return ApiCall("GET", f"{path_of(pipeline)}/rehearsals/{segment(rehearsal)}", partial(read, Rehearsal))
