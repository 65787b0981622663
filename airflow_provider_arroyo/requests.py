"""Requests to the control plane as values: what to send, and how to parse the response.

A sender, blocking or not (`control_plane.py`), finds everything in the value.

This module has the requests that most tasks send. A request of one kind of task is next to its response
(`savepoints.py`, `consumers.py`, `moves.py`), so that parsing a DAG file does not import all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import Generic, Literal, TypeAlias, TypeVar
from urllib.parse import quote
from uuid import uuid4

from airflow_provider_arroyo.errors import ArroyoError, BadAnswerError, CrashedError, RefusedError, UnavailableError
from airflow_provider_arroyo.responses import (
    Checkpoint,
    Job,
    Ping,
    Pipeline,
    PipelineEvent,
    Problem,
    read,
    read_list,
    to_micros,
)

T = TypeVar("T")
Json: TypeAlias = "None | bool | int | float | str | Sequence[Json] | Mapping[str, Json]"
LateMode = Literal["ignore", "reopen"]
StopMode = Literal["none", "checkpoint", "graceful", "immediate", "force"]


@dataclass(frozen=True, slots=True)
class AskingRun:
    """A run in OpenLineage's notation, `NAMESPACE/JOB/RUN_ID`, and its parent run, if known."""

    run: str
    root: str | None = None


@dataclass(frozen=True, slots=True)
class ApiCall(Generic[T]):
    """One request under `/api/v1`, and the parser of its response."""

    method: Literal["GET", "PUT", "POST", "PATCH", "DELETE"]
    path: str
    answer: Callable[[object], T]
    query: Mapping[str, str | int] = field(default_factory=dict)
    body: Mapping[str, Json] | None = field(default=None, repr=False)
    key: str | None = None
    """Idempotency key: requests with the same key are executed once."""
    asking_run: AskingRun | None = None
    """The requesting run: the parent of the runs that follow."""
    hold: timedelta = timedelta(0)
    """How long the server may hold the request before it responds."""

    def asked_by(self, run: AskingRun | None) -> ApiCall[T]:
        """Return this request as a step of that run."""
        return replace(self, asking_run=run)


@dataclass(frozen=True, slots=True)
class PipelineSpec:
    """Desired settings of a pipeline. None leaves a setting unchanged; for a new pipeline it is the control plane's
    default."""

    query: str
    parallelism: int | None = None
    settings: Mapping[str, str] | None = None
    udfs: Sequence[str] | None = None
    checkpoint_interval: timedelta | None = None
    secrets: Mapping[str, str] | None = field(default=None, repr=False)
    """None keeps the pipeline's secrets."""

    def to_json(self) -> dict[str, Json]:
        """Return the body of a deployment without its secrets; equal for two equal specs."""
        interval = self.checkpoint_interval
        parts: dict[str, Json] = {
            "query": self.query,
            "parallelism": self.parallelism,
            "settings": None if self.settings is None else dict(sorted(self.settings.items())),
            "udfs": None if self.udfs is None else list(self.udfs),
            "checkpoint_interval_micros": None if interval is None else interval // timedelta(microseconds=1),
        }
        return {name: part for name, part in parts.items() if part is not None}


@dataclass(frozen=True, slots=True)
class UpgradeWish:
    """Whether a script takes over the state of the previous script, and which state may be discarded."""

    is_wanted: bool = True
    keep_state: Sequence[str] = ()
    reset: Sequence[str] = ()
    accept_loss: str | None = None
    hold_back: Sequence[str] = ()

    def to_json(self) -> dict[str, Json]:
        """Return the upgrade's part of a deployment; empty if all settings are the defaults."""
        parts: dict[str, Json] = {
            "upgrade": None if self.is_wanted else "never",
            "keep_state": list(self.keep_state),
            "reset": list(self.reset),
            "hold_back": list(self.hold_back),
            "accept_loss": self.accept_loss,
        }
        return {name: part for name, part in parts.items() if part}


def ping() -> ApiCall[Ping]:
    """Ask who answers. Needs no token."""
    return ApiCall("GET", "/ping", partial(read, Ping))


def deploy(
    name: str,
    spec: PipelineSpec,
    *,
    key: str,
    force: bool = False,
    upgrade: UpgradeWish | None = None,
) -> ApiCall[Pipeline]:
    """Bring the pipeline of this name to the state of `spec`, running."""
    wish = {} if upgrade is None else upgrade.to_json()
    secrets: dict[str, Json] = {} if spec.secrets is None else {"secrets": dict(spec.secrets)}
    body = {**spec.to_json(), **secrets, "stop": "none", "idempotency_key": key, **wish}
    if force:
        body["force"] = True
    path = f"/pipelines/by-name/{segment(name)}"
    return ApiCall("PUT", path, partial(read, Pipeline), body=body, key=key)


def list_pipelines(after: str | None = None) -> ApiCall[tuple[Pipeline, ...]]:
    """Return a page of pipelines, oldest first: the first one, which suffices to check the token, or that after a
    pipeline, by its id."""
    query = {} if after is None else {"starting_after": after}
    return ApiCall("GET", "/pipelines", partial(read_list, Pipeline), query=query)


def get_pipeline(pipeline: str) -> ApiCall[Pipeline]:
    """Return a pipeline, by id or by name."""
    return ApiCall("GET", path_of(pipeline), partial(read, Pipeline))


def stop_pipeline(pipeline: str, mode: StopMode) -> ApiCall[Pipeline]:
    """Request a stop; the answer comes before the pipeline has stopped."""
    return ApiCall("PATCH", path_of(pipeline), partial(read, Pipeline), body={"stop": mode}, key=fresh_key())


def delete_pipeline(pipeline: str, *, with_savepoints: bool) -> ApiCall[object]:
    """Delete a stopped pipeline with its state."""
    query = {"with_savepoints": "true"} if with_savepoints else {}
    return ApiCall("DELETE", path_of(pipeline), lambda answer: answer, query=query, key=fresh_key())


def rescale_pipeline(pipeline: str, parallelism: int) -> ApiCall[Pipeline]:
    """Request another parallelism."""
    body = {"parallelism": parallelism}
    return ApiCall("PATCH", path_of(pipeline), partial(read, Pipeline), body=body, key=fresh_key())


def start_pipeline(pipeline: str, *, key: str) -> ApiCall[Pipeline]:
    """Start a stopped or failed pipeline from its last checkpoint; a running one is unchanged."""
    return ApiCall("PATCH", path_of(pipeline), partial(read, Pipeline), body={"stop": "none"}, key=key)


def restart_pipeline(pipeline: str, *, key: str) -> ApiCall[object]:
    """Start a failed or stopped pipeline again from its last checkpoint."""
    return ApiCall("POST", f"{path_of(pipeline)}/restart", lambda answer: answer, body={"force": False}, key=key)


def list_jobs(pipeline: str) -> ApiCall[tuple[Job, ...]]:
    """Return the jobs of a pipeline."""
    return ApiCall("GET", f"{path_of(pipeline)}/jobs", partial(read_list, Job))


def list_events(
    pipeline: str, *, since: datetime, severity: Literal["info", "warn", "error"]
) -> ApiCall[tuple[PipelineEvent, ...]]:
    """List the events of a pipeline since an instant that have at least this severity, newest first."""
    query: dict[str, str | int] = {"since": to_micros(since), "severity": severity}
    return ApiCall("GET", f"{path_of(pipeline)}/events", partial(read_list, PipelineEvent), query=query)


def list_checkpoints(pipeline: str, job: str, limit: int | None = None) -> ApiCall[tuple[Checkpoint, ...]]:
    """Return the newest checkpoints of a job that the control plane still knows."""
    path = f"{path_of(pipeline)}/jobs/{segment(job)}/checkpoints"
    return ApiCall("GET", path, partial(read_list, Checkpoint), query={} if limit is None else {"limit": limit})


def refusal(status: int, body: object) -> ArroyoError:
    """Return the error for an answer other than a success."""
    problem = Problem(status, detail=None)
    if isinstance(body, dict):
        try:
            problem = read(Problem, {**body, "status": status})
        except BadAnswerError:
            problem = Problem(status)
    detail = problem.detail or problem.title or HTTPStatus(status).phrase
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        return CrashedError(detail, code=problem.code or "http.crashed", hint=problem.hint or "Its log says why.")
    if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return UnavailableError(detail, code=problem.code or "http.unavailable", hint=problem.hint)
    return RefusedError(detail, code=problem.code or f"http.{status}", status=status, hint=problem.hint)


def fresh_key() -> str:
    """Return a key for one request, however often that is sent until an answer comes: a late copy does nothing."""
    return uuid4().hex


def path_of(pipeline: str) -> str:
    """Return the path of a pipeline, by id or by name."""
    return f"/pipelines/{segment(pipeline)}"


def segment(name: str) -> str:
    """Return a name as one segment of a path; raise if it would lead nowhere, or elsewhere."""
    if name in {"", ".", ".."} or "/" in name:
        unprocessable = HTTPStatus.UNPROCESSABLE_ENTITY
        hint = "A name has no slash." if "/" in name else "Is the template of a name empty?"
        raise RefusedError(f"{name!r} is not a name", code="request.invalid", status=unprocessable, hint=hint)
    return quote(name, safe="")
