"""Requests of a move from one control plane to another, and their responses.

    source                  target                  if the task is retried after it
    dry run                 check                   nothing has happened
    begin                                           the pipeline is stopped; the task continues
    export                  arrive                  the same
    release                                         it runs nowhere, and can only start at the target
                            start                   it runs at the target
    over                                            done

Both control planes store the progress of a move, so a task stores nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from airflow_provider_arroyo.requests import ApiCall, Json, path_of
from airflow_provider_arroyo.responses import read, read_list


@dataclass(frozen=True, slots=True)
class MoveTask:
    """Background work of a control plane for a move."""

    state: Literal["running", "done", "failed"]
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Departure:
    """A move, as its source control plane sees it."""

    step: Literal["leaving", "exported", "released", "over"]
    to: str
    place: str
    passport: dict[str, Any]
    key: str | None = field(default=None, repr=False)
    """Key with which the target control plane can start the pipeline; None before the release."""
    task: MoveTask | None = None

    @property
    def pipeline_id(self) -> str:
        """The pipeline, which keeps its id."""
        return str(self.passport["pipeline_id"])

    @property
    def name(self) -> str:
        """Return the name of the pipeline, on both control planes."""
        return str(self.passport["name"])


@dataclass(frozen=True, slots=True)
class Arrival:
    """A move, as its target control plane sees it."""

    pipeline_id: str
    name: str
    step: str | None = None
    task: MoveTask | None = None
    state: str | None = None
    is_up: bool = False


@dataclass(frozen=True, slots=True)
class Welcome:
    """Confirmation that a target accepts a pipeline."""

    targets: tuple[str, ...] = ()


def list_departures(pipeline: str) -> ApiCall[tuple[Departure, ...]]:
    """Return the current or last move of a pipeline; empty without one."""
    return ApiCall("GET", _departure(pipeline), partial(read_list, Departure))


def begin_departure(pipeline: str, to: str, place: str, *, dry_run: bool = False) -> ApiCall[Departure]:
    """Stop a pipeline for a move and prevent starts here. A dry run only describes the effects."""
    query: dict[str, str | int] = {"dry_run": "true"} if dry_run else {}
    body: dict[str, Json] = {"to": to, "place": place}
    return ApiCall("POST", _departure(pipeline), partial(read, Departure), query=query, body=body)


def go_on(pipeline: str, action: Literal["export", "release", "over"]) -> ApiCall[Departure]:
    """Take the next step of a move at its origin. Idempotent."""
    return ApiCall("POST", f"{_departure(pipeline)}/{action}", partial(read, Departure))


def stay(pipeline: str) -> ApiCall[None]:
    """Cancel the move of a pipeline that was not released."""
    return ApiCall("DELETE", _departure(pipeline), lambda _: None)


def would_welcome(introduced: Mapping[str, Json]) -> ApiCall[Welcome]:
    """Ask whether the other control plane would accept the pipeline."""
    return ApiCall("POST", "/arrivals/check", partial(read, Welcome), body=introduced)


def arrive(introduced: Mapping[str, Json]) -> ApiCall[Arrival]:
    """Import the state there, without starting the pipeline."""
    return ApiCall("POST", "/arrivals", partial(read, Arrival), body=introduced)


def start_arrived(pipeline_id: str, key: str | None) -> ApiCall[Arrival]:
    """Start the pipeline there as it ran here, since it was released here."""
    return ApiCall("POST", f"/arrivals/{pipeline_id}/start", partial(read, Arrival), body={"key": key})


def get_arrival(pipeline_id: str) -> ApiCall[Arrival]:
    """Ask for the progress of the import."""
    return ApiCall("GET", f"/arrivals/{pipeline_id}", partial(read, Arrival))


def send_back(pipeline_id: str) -> ApiCall[None]:
    """Undo the import, as long as the pipeline has done nothing there."""
    return ApiCall("DELETE", f"/arrivals/{pipeline_id}", lambda _: None)


def _departure(pipeline: str) -> str:
    return f"{path_of(pipeline)}/departure"
