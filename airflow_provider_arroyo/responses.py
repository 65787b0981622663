"""Responses of the control plane as frozen values. Unknown keys are ignored, so that responses of newer servers can be
read.

This module has the responses that most tasks need. A response to a special request is next to that request.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, TypeAdapter, ValidationError

from airflow_provider_arroyo.durations import to_plain
from airflow_provider_arroyo.errors import BadAnswerError


class JobState(StrEnum):
    """State of a job."""

    CREATED = "Created"
    SCHEDULING = "Scheduling"
    RUNNING = "Running"
    CHECKPOINT_STOPPING = "CheckpointStopping"
    STOPPING = "Stopping"
    STOPPED = "Stopped"
    RESCALING = "Rescaling"
    RECOVERING = "Recovering"
    FINISHED = "Finished"
    FAILED = "Failed"

    @property
    def is_terminal(self) -> bool:
        """Whether the job stays in this state until a request."""
        return self in {JobState.STOPPED, JobState.FINISHED, JobState.FAILED}

    @property
    def is_successful(self) -> bool:
        """Whether the job reached the end of its input."""
        return self is JobState.FINISHED


T = TypeVar("T")
_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def from_micros(value: object) -> object:
    """Convert microseconds since 1970 to an aware instant; leave anything else to the validation that follows."""
    if isinstance(value, int) and not isinstance(value, bool):
        return _EPOCH + timedelta(microseconds=value)
    return value


def to_micros(instant: datetime) -> int:
    """Return an aware instant as microseconds since 1970."""
    return (to_plain(instant) - _EPOCH) // timedelta(microseconds=1)


Instant = Annotated[datetime, BeforeValidator(from_micros)]


@dataclass(frozen=True, slots=True)
class Ping:
    """Identity of the server at an address; a restarted control plane is another instance."""

    version: str
    instance: str


@dataclass(frozen=True, slots=True)
class TableUse:
    """A table that a pipeline reads or writes, and its URI in other systems, if it has one."""

    name: str
    direction: str
    connector: str
    uri: str | None = None


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The current state of a pipeline."""

    id: str
    name: str
    state: JobState
    parallelism: int
    job_id: str | None = None
    stop: str = "none"
    stopped_by: str | None = None
    stopped_at: Instant | None = None
    version: int | None = None
    settled: bool | None = None
    fingerprint: str | None = None
    query: str | None = None
    settings: dict[str, str] = field(default_factory=dict)
    graph: dict[str, Any] = field(default_factory=dict)
    tables: tuple[TableUse, ...] | None = None

    @property
    def plan(self) -> dict[str, Any]:
        """Summarise the newest version: what it reads, what it writes, and the operators between."""
        nodes: list[dict[str, str]] = self.graph.get("nodes", [])
        operators = [node["operator"] for node in nodes if node["operator"] not in ("Scan", "Write", "Branch")]
        return {
            "fingerprint": self.fingerprint,
            "sources": [_table_of(node["description"]) for node in nodes if node["operator"] == "Scan"],
            "sinks": [node["description"].removeprefix("Write ") for node in nodes if node["operator"] == "Write"],
            "operators": sorted(set(operators)),
        }

    @property
    def who_stopped_it(self) -> str:
        """Return who requested the stop, and when, as far as the control plane knows."""
        who = self.stopped_by or "an unknown user"
        return who if self.stopped_at is None else f"{who} on {self.stopped_at.isoformat(timespec='seconds')}"

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing happens without another request. A pipeline with a pending request is about to start; a
        control plane of an earlier version does not report that for failed ones."""
        is_about_to_start = self.state is JobState.STOPPED and self.stop == "none"
        return self.state.is_terminal and not is_about_to_start and self.settled is not False


@dataclass(frozen=True, slots=True)
class Job:
    """Job of a pipeline. `run_id` increases with every start of its driver."""

    id: str
    state: JobState
    run_id: int = 0
    failure_message: str | None = None
    failure_code: str | None = None
    failure_hint: str | None = None
    failure_cause: str | None = None
    restarts: int = 0
    restarts_total: int = 0
    restart_code: str | None = None
    epoch: int | None = None
    watermark: Instant | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A committed epoch; without `finish_time` it is not committed yet."""

    epoch: int
    finish_time: Instant | None = None
    rows_in: int | None = None
    rows_out: int | None = None
    rows_per_second: float | None = None
    late_rows: int = 0
    rows_waiting: int | None = None
    watermark: Instant | None = None


@dataclass(frozen=True, slots=True)
class PipelineEvent:
    """An event of a pipeline."""

    message: str
    created_at: Instant
    level: str = "info"
    code: str | None = None
    details: str | None = None
    who: str | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Reason why a request was refused."""

    status: int = 0
    code: str | None = None
    title: str | None = None
    detail: str | None = None
    hint: str | None = None


def _table_of(scan: str) -> str:
    """Return the table that is read, from words like `Scan changes of orders (id, amount), watermark at`."""
    return scan.partition(" (")[0].removeprefix("Scan ").removeprefix("changes of ")


def read(kind: type[T], data: object) -> T:
    """Return the JSON value as a `kind`; a value that is not one is a `BadAnswerError`."""
    try:
        answer: T = _adapter(kind).validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole of it"
        message = f"not a {kind.__name__} as this provider knows it: {where}: {first['msg']}"
        raise BadAnswerError(message) from error
    return answer


def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    """Return the adapter of a type, which is created for the first answer: creating all of them would double the import
    time of a DAG file."""
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def read_list(kind: type[T], data: object) -> tuple[T, ...]:
    """Return the `data` of a list answer; further pages are not fetched."""
    if not isinstance(data, dict) or not isinstance(data.get("data"), list):
        raise BadAnswerError(f"not a list of {kind.__name__}s")
    return tuple(read(kind, item) for item in data["data"])
