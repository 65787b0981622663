"""Each request to the control plane as a value: what to send, and how to read the answer.

Whoever sends one, blocking or not (`control_plane.py`), finds everything in it.
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

from airflow_provider_arroyo.answers import (
    Checkpoint,
    Deliveries,
    ForkedPipeline,
    HandOver,
    Job,
    Lineage,
    PartitionConsumer,
    Ping,
    Pipeline,
    PipelineEvent,
    Problem,
    PruneAnswer,
    Rehearsal,
    ReprocessedPipeline,
    RolledBackPipeline,
    Savepoint,
    UpgradePlan,
    Watermark,
    read,
    read_list,
    to_micros,
)
from airflow_provider_arroyo.errors import ArroyoError, BadAnswerError, CrashedError, RefusedError, UnavailableError

T = TypeVar("T")
Json: TypeAlias = "None | bool | int | float | str | Sequence[Json] | Mapping[str, Json]"
GateTime = Literal["input", "output"]
LateMode = Literal["ignore", "reopen"]
StopMode = Literal["none", "checkpoint", "graceful", "immediate", "force"]


@dataclass(frozen=True, slots=True)
class AskingRun:
    """A run as OpenLineage names it, `NAMESPACE/JOB/RUN_ID`, and the one that it is a part of, where that is known."""

    run: str
    root: str | None = None


@dataclass(frozen=True, slots=True)
class ApiCall(Generic[T]):
    """One request under `/api/v1`, and how its answer is read."""

    method: Literal["GET", "PUT", "POST", "PATCH", "DELETE"]
    path: str
    answer: Callable[[object], T]
    query: Mapping[str, str | int] = field(default_factory=dict)
    body: Mapping[str, Json] | None = field(default=None, repr=False)
    key: str | None = None
    """Idempotency key: however often the request arrives, it is done once."""
    asking_run: AskingRun | None = None
    """Who asks for it: it is told as the parent of the runs that follow."""
    hold: timedelta = timedelta(0)
    """How long the server may keep the request before it answers."""

    def asked_by(self, run: AskingRun | None) -> ApiCall[T]:
        """The same as a step of that run."""
        return replace(self, asking_run=run)


@dataclass(frozen=True, slots=True)
class Gate:
    """Output that is complete up to `past`, in one sink or in all, and the DAG run that relies on it."""

    past: datetime
    table: str | None = None
    by: GateTime = "input"
    dag_id: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class PipelineSpec:
    """What a pipeline shall be. What is None stays as it is, and is the control plane's default for a new one."""

    query: str
    parallelism: int | None = None
    settings: Mapping[str, str] | None = None
    udfs: Sequence[str] | None = None
    checkpoint_interval: timedelta | None = None
    secrets: Mapping[str, str] | None = field(default=None, repr=False)
    """None: those that the pipeline has."""

    def to_json(self) -> dict[str, Json]:
        """The body of a deployment but its secrets; the same for two equal specs."""
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
class RetentionRules:
    """What of a pipeline's savepoints is kept; where all is None, nothing is said."""

    keep_last: int | None = None
    daily: int | None = None
    weekly: int | None = None
    max_age: timedelta | None = None
    upgrades_for: timedelta | None = None
    time_zone: str = "UTC"

    def to_json(self) -> dict[str, Json]:
        """The body that says it; empty where there is no rule."""
        counts: dict[str, Json] = {"keep_last": self.keep_last, "daily": self.daily, "weekly": self.weekly}
        ages = {"max_age_micros": self.max_age, "upgrades_for_micros": self.upgrades_for}
        micros = {name: None if age is None else age // timedelta(microseconds=1) for name, age in ages.items()}
        rules = {name: rule for name, rule in {**counts, **micros}.items() if rule is not None}
        return {**rules, "time_zone": self.time_zone} if rules else {}


@dataclass(frozen=True, slots=True)
class ConsumerSpec:
    """Which buckets of event time of a pipeline a consumer of partitions is told of."""

    pipeline: str
    every: str
    table: str | None = None
    by: GateTime = "input"
    time_zone: str = "UTC"
    offset: str | None = None
    start: str | None = None
    until: str | None = None
    late: LateMode | None = None
    """None leaves a consumer that is there as it is."""

    def to_json(self) -> dict[str, Json]:
        """The body that makes it; nothing where all is as by default."""
        parts: dict[str, Json] = {
            "pipeline": self.pipeline,
            "every": self.every,
            "table": self.table,
            "by": self.by,
            "time_zone": self.time_zone,
            "offset": self.offset,
            "start": self.start,
            "until": self.until,
            "late": self.late,
        }
        return {name: part for name, part in parts.items() if part is not None}


@dataclass(frozen=True, slots=True)
class PushSpec:
    """An asset of an Airflow that gets an event for each delivery, and the names of the secrets to log in with."""

    url: str
    asset: str
    with_keys: bool = True
    username: str | None = None
    password_secret: str | None = None
    token_secret: str | None = None

    def to_json(self) -> dict[str, Json]:
        """The part of a consumer that says it."""
        parts: dict[str, Json] = {
            "url": self.url,
            "asset": self.asset,
            "with_keys": self.with_keys,
            "username": self.username,
            "password": _secret(self.password_secret),
            "token": _secret(self.token_secret),
        }
        return {name: part for name, part in parts.items() if part is not None}


def _secret(name: str | None) -> str | None:
    return None if name is None else f"{{{{ secret:{name} }}}}"


@dataclass(frozen=True, slots=True)
class UpgradeWish:
    """Whether a script takes over the state of the one before it, and what may be given up of that."""

    is_wanted: bool = True
    keep_state: Sequence[str] = ()
    reset: Sequence[str] = ()
    accept_loss: str | None = None
    hold_back: Sequence[str] = ()

    def to_json(self) -> dict[str, Json]:
        """Its part of a deployment; nothing where all is as by default."""
        parts: dict[str, Json] = {
            "upgrade": None if self.is_wanted else "never",
            "keep_state": list(self.keep_state),
            "reset": list(self.reset),
            "hold_back": list(self.hold_back),
            "accept_loss": self.accept_loss,
        }
        return {name: part for name, part in parts.items() if part}


def ping() -> ApiCall[Ping]:
    """Who is there? Needs no token."""
    return ApiCall("GET", "/ping", partial(read, Ping))


def deploy(
    name: str,
    spec: PipelineSpec,
    *,
    key: str,
    force: bool = False,
    upgrade: UpgradeWish | None = None,
) -> ApiCall[Pipeline]:
    """Let the pipeline of this name be as `spec` says, and run."""
    wish = {} if upgrade is None else upgrade.to_json()
    secrets: dict[str, Json] = {} if spec.secrets is None else {"secrets": dict(spec.secrets)}
    body = {**spec.to_json(), **secrets, "stop": "none", "idempotency_key": key, **wish}
    if force:
        body["force"] = True
    path = f"/pipelines/by-name/{_segment(name)}"
    return ApiCall("PUT", path, partial(read, Pipeline), body=body, key=key)


def plan_upgrade(
    pipeline: str, query: str, udfs: Sequence[str] | None = None, wish: UpgradeWish | None = None
) -> ApiCall[UpgradePlan]:
    """What would become of the pipeline's state if this script took its place."""
    chosen = wish or UpgradeWish()
    body: dict[str, Json] = {"query": query, "keep_state": list(chosen.keep_state), "reset": list(chosen.reset)}
    if chosen.hold_back:
        body["hold_back"] = list(chosen.hold_back)
    if udfs is not None:
        body["udfs"] = list(udfs)
    return ApiCall("POST", f"{_at(pipeline)}/plan", partial(read, UpgradePlan), body=body)


def rehearse(pipeline: str, wish: Mapping[str, Json], *, key: str) -> ApiCall[Rehearsal]:
    """Have a script played in the place of the one that runs, beside it; the answer comes before that is over."""
    return ApiCall("POST", f"{_at(pipeline)}/rehearsals", partial(read, Rehearsal), body=wish, key=key)


def get_rehearsal(pipeline: str, rehearsal: str) -> ApiCall[Rehearsal]:
    """A rehearsal, by id."""
    return ApiCall("GET", f"{_at(pipeline)}/rehearsals/{_segment(rehearsal)}", partial(read, Rehearsal))


def list_pipelines(after: str | None = None) -> ApiCall[tuple[Pipeline, ...]]:
    """A page of pipelines, oldest first: the first one, which is enough to see that the token is good, or that behind
    a pipeline, by its id."""
    query = {} if after is None else {"starting_after": after}
    return ApiCall("GET", "/pipelines", partial(read_list, Pipeline), query=query)


def get_pipeline(pipeline: str) -> ApiCall[Pipeline]:
    """A pipeline, by id or by name."""
    return ApiCall("GET", _at(pipeline), partial(read, Pipeline))


def get_lineage(pipeline: str) -> ApiCall[Lineage]:
    """What a pipeline reads and writes, and which columns come from which."""
    return ApiCall("GET", f"{_at(pipeline)}/lineage", partial(read, Lineage))


def stop_pipeline(pipeline: str, mode: StopMode) -> ApiCall[Pipeline]:
    """Ask a pipeline to stop; the answer comes before it has stopped."""
    return ApiCall("PATCH", _at(pipeline), partial(read, Pipeline), body={"stop": mode}, key=_fresh_key())


def delete_pipeline(pipeline: str, *, with_savepoints: bool) -> ApiCall[object]:
    """Delete a pipeline that is at rest, with its state."""
    query = {"with_savepoints": "true"} if with_savepoints else {}
    return ApiCall("DELETE", _at(pipeline), lambda answer: answer, query=query, key=_fresh_key())


def rescale_pipeline(pipeline: str, parallelism: int) -> ApiCall[Pipeline]:
    """Ask a pipeline to go on with another parallelism."""
    body = {"parallelism": parallelism}
    return ApiCall("PATCH", _at(pipeline), partial(read, Pipeline), body=body, key=_fresh_key())


def restart_pipeline(pipeline: str, *, key: str) -> ApiCall[object]:
    """Start a failed or stopped pipeline again from its last checkpoint."""
    return ApiCall("POST", f"{_at(pipeline)}/restart", lambda answer: answer, body={"force": False}, key=key)


def roll_back_pipeline(pipeline: str, to: int | None, *, key: str) -> ApiCall[RolledBackPipeline]:
    """Take a pipeline back to an earlier version with its state; the answer comes before it is done."""
    body: dict[str, Json] = {} if to is None else {"to": to}
    return ApiCall("POST", f"{_at(pipeline)}/rollback", partial(read, RolledBackPipeline), body=body, key=key)


def restore_savepoint(
    pipeline: str, savepoint: str, *, allow_replay: bool, with_version: bool, key: str
) -> ApiCall[Pipeline]:
    """Take a pipeline back to a savepoint; the answer comes before it is done."""
    body: dict[str, Json] = {
        "savepoint_id": savepoint,
        "allow_replay": allow_replay,
        "with_version": with_version,
    }
    return ApiCall("POST", f"{_at(pipeline)}/restore", partial(read, Pipeline), body=body, key=key)


def fork_savepoint(
    savepoint: str, name: str, spec: PipelineSpec, wish: UpgradeWish, *, key: str
) -> ApiCall[ForkedPipeline]:
    """Make a new pipeline that goes on from a savepoint of another one."""
    parts = {part: value for part, value in spec.to_json().items() if part in ("query", "settings", "udfs")}
    secrets: dict[str, Json] = {} if spec.secrets is None else {"secrets": dict(spec.secrets)}
    body = {"name": name, **parts, **secrets, **wish.to_json()}
    return ApiCall("POST", f"/savepoints/{_segment(savepoint)}/fork", partial(read, ForkedPipeline), body=body, key=key)


def reprocess(pipeline: str, wish: Mapping[str, Json], *, key: str) -> ApiCall[ReprocessedPipeline]:
    """Make a pipeline beside this one that reads its input again and writes elsewhere."""
    return ApiCall("POST", f"{_at(pipeline)}/reprocess", partial(read, ReprocessedPipeline), body=wish, key=key)


def hand_over(copy: str, *, accept_other_values: bool = False) -> ApiCall[HandOver]:
    """Have a pipeline that reads another one's input again take its place; asked twice, it is done once."""
    query: dict[str, str | int] = {"accept_other_values": "true"} if accept_other_values else {}
    return ApiCall("POST", f"{_at(copy)}/hand-over", partial(read, HandOver), query=query)


def get_hand_over(copy: str) -> ApiCall[HandOver]:
    """How far it has come."""
    return ApiCall("GET", f"{_at(copy)}/hand-over", partial(read, HandOver))


def list_jobs(pipeline: str) -> ApiCall[tuple[Job, ...]]:
    """The jobs of a pipeline."""
    return ApiCall("GET", f"{_at(pipeline)}/jobs", partial(read_list, Job))


def list_events(
    pipeline: str, *, since: datetime, severity: Literal["info", "warn", "error"]
) -> ApiCall[tuple[PipelineEvent, ...]]:
    """What has happened to a pipeline since an instant and is at least that bad, newest first."""
    query: dict[str, str | int] = {"since": to_micros(since), "severity": severity}
    return ApiCall("GET", f"{_at(pipeline)}/events", partial(read_list, PipelineEvent), query=query)


def list_checkpoints(pipeline: str, job: str, limit: int | None = None) -> ApiCall[tuple[Checkpoint, ...]]:
    """The newest checkpoints of a job that the control plane still knows."""
    path = f"{_at(pipeline)}/jobs/{_segment(job)}/checkpoints"
    return ApiCall("GET", path, partial(read_list, Checkpoint), query={} if limit is None else {"limit": limit})


def take_savepoint(pipeline: str, *, label: str | None, key: str) -> ApiCall[Savepoint]:
    """Ask for a savepoint; the answer may come before it is complete."""
    return ApiCall("POST", f"{_at(pipeline)}/savepoints", partial(read, Savepoint), body={"label": label}, key=key)


def stop_with_savepoint(pipeline: str, *, label: str, key: str) -> ApiCall[Savepoint]:
    """Ask a pipeline to stop, and for a savepoint of its last epoch."""
    body = {"label": label, "stop": "checkpoint"}
    return ApiCall("POST", f"{_at(pipeline)}/savepoints", partial(read, Savepoint), body=body, key=key)


def get_savepoint(pipeline: str, savepoint: str) -> ApiCall[Savepoint]:
    """A savepoint, by id."""
    return ApiCall("GET", f"{_at(pipeline)}/savepoints/{_segment(savepoint)}", partial(read, Savepoint))


def drill_savepoint(pipeline: str, savepoint: str) -> ApiCall[Savepoint]:
    """Have a savepoint restored into a scratch directory and read; the answer may come before that is over."""
    path = f"{_at(pipeline)}/savepoints/{_segment(savepoint)}/verify"
    return ApiCall("POST", path, partial(read, Savepoint), query={"drill": "true"})


def set_retention(pipeline: str, rules: RetentionRules) -> ApiCall[object]:
    """Say what of a pipeline's savepoints is kept, now and from now on."""
    path = f"{_at(pipeline)}/savepoint-retention"
    return ApiCall("PUT", path, lambda answer: answer, body=rules.to_json(), key=_fresh_key())


def prune_savepoints(
    pipeline: str, rules: RetentionRules | None = None, *, dry_run: bool = False
) -> ApiCall[PruneAnswer]:
    """Delete the savepoints that go by these rules, or by the pipeline's own; or only say which."""
    body = None if rules is None else rules.to_json()
    path, query = f"{_at(pipeline)}/savepoints/prune", {"dry_run": "true" if dry_run else "false"}
    return ApiCall("POST", path, partial(read, PruneAnswer), query=query, body=body, key=_fresh_key())


def get_watermark(pipeline: str, gate: Gate | None = None, hold: timedelta = timedelta(0)) -> ApiCall[Watermark]:
    """How far committed output is complete; with a gate, the answer is kept back until it is passed, or for `hold`."""
    query: dict[str, str | int] = {}
    if gate is not None:
        asked = {"table": gate.table, "dag_id": gate.dag_id, "run_id": gate.run_id}
        query = {"past": to_micros(gate.past), "timeout_seconds": int(hold.total_seconds()), "by": gate.by}
        query |= {name: value for name, value in asked.items() if value is not None}
    return ApiCall("GET", f"{_at(pipeline)}/watermark", partial(read, Watermark), query=query, hold=hold)


def put_consumer(name: str, spec: ConsumerSpec) -> ApiCall[PartitionConsumer]:
    """Let there be a consumer of partitions; one that is there already goes on from where it is."""
    return ApiCall("PUT", _consumer(name), partial(read, PartitionConsumer), body=spec.to_json())


def put_pushed_consumer(name: str, spec: ConsumerSpec, push: PushSpec | None) -> ApiCall[PartitionConsumer]:
    """The same, and have its deliveries pushed there, or pulled."""
    body = {**spec.to_json(), "push": None if push is None else push.to_json()}
    return ApiCall("PUT", _consumer(name), partial(read, PartitionConsumer), body=body)


def next_deliveries(name: str, limit: int, hold: timedelta = timedelta(0)) -> ApiCall[Deliveries]:
    """What a consumer was not told yet, or has not acknowledged; kept back until there is something, or for `hold`."""
    query: dict[str, str | int] = {"limit": limit, "timeout_seconds": int(hold.total_seconds())}
    return ApiCall("GET", f"{_consumer(name)}/next", partial(read, Deliveries), query=query, hold=hold)


def acknowledge(consumer: PartitionConsumer, up_to: int) -> ApiCall[PartitionConsumer]:
    """Be done with all deliveries of this consumer, and of no other of its name, up to a number."""
    body: dict[str, Json] = {"up_to": up_to, "id": consumer.id}
    return ApiCall("POST", f"{_consumer(consumer.name)}/ack", partial(read, PartitionConsumer), body=body)


def refusal(status: int, body: object) -> ArroyoError:
    """The error that an answer other than a success stands for."""
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


def _fresh_key() -> str:
    """A key for one request, however often that is sent until an answer comes: a copy that is late does nothing."""
    return uuid4().hex


def _at(pipeline: str) -> str:
    return f"/pipelines/{_segment(pipeline)}"


def _consumer(name: str) -> str:
    return f"/partitions/{_segment(name)}"


def _segment(name: str) -> str:
    """A name as one piece of a path; refused where it would lead to nothing, or to something else."""
    if name in {"", ".", ".."} or "/" in name:
        unprocessable = HTTPStatus.UNPROCESSABLE_ENTITY
        hint = "A name has no slash." if "/" in name else "Is the template of a name empty?"
        raise RefusedError(f"{name!r} is not a name", code="request.invalid", status=unprocessable, hint=hint)
    return quote(name, safe="")
