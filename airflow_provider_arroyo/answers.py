"""What the control plane answers, as frozen values. Unknown keys are ignored, so a newer server is understood."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, TypeAdapter, ValidationError

from airflow_provider_arroyo.errors import BadAnswerError
from airflow_provider_arroyo.states import JobState

T = TypeVar("T")
_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def from_micros(value: object) -> object:
    """Microseconds since 1970 as an aware instant; anything else is left for the check that follows."""
    if isinstance(value, int) and not isinstance(value, bool):
        return _EPOCH + timedelta(microseconds=value)
    return value


def to_micros(instant: datetime) -> int:
    """An aware instant as microseconds since 1970."""
    return (instant - _EPOCH) // timedelta(microseconds=1)


Instant = Annotated[datetime, BeforeValidator(from_micros)]


@dataclass(frozen=True, slots=True)
class Ping:
    """Who answers at an address; a restarted control plane is another instance."""

    version: str
    instance: str


@dataclass(frozen=True, slots=True)
class TableUse:
    """A table that a pipeline reads or writes; its place as others name it, where it has one."""

    name: str
    direction: str
    connector: str
    uri: str | None = None


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline as it is now."""

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
        """What the newest version does, in few words: what it reads, what it writes, and what is between."""
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
        """Who has asked for it to stop, and when, as far as the control plane knows."""
        who = self.stopped_by or "somebody"
        return who if self.stopped_at is None else f"{who} on {self.stopped_at.isoformat(timespec='seconds')}"

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing happens until somebody asks for something. One of which something is still to come that was
        asked for is about to start; a control plane of an earlier version does not say so of those that have failed."""
        is_about_to_start = self.state is JobState.STOPPED and self.stop == "none"
        return self.state.is_terminal and not is_about_to_start and self.settled is not False


@dataclass(frozen=True, slots=True)
class LineageDataset:
    """A place that a pipeline reads or writes, as OpenLineage names it; its facets are what is known of it."""

    namespace: str
    name: str
    facets: dict[str, Any] = field(default_factory=dict)

    @property
    def table(self) -> str | None:
        """What the script calls it."""
        told = self.facets.get("arroyo_table", {}).get("table")
        return told if isinstance(told, str) else None


@dataclass(frozen=True, slots=True)
class Lineage:
    """What a pipeline reads and writes, and which columns come from which; `namespace` and `name` are its job's."""

    namespace: str
    name: str
    version: int
    inputs: tuple[LineageDataset, ...] = ()
    outputs: tuple[LineageDataset, ...] = ()


@dataclass(frozen=True, slots=True)
class Job:
    """One life of a pipeline. `run_id` grows by one with every start of its driver."""

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
    """A committed epoch; one without `finish_time` is not committed yet."""

    epoch: int
    finish_time: Instant | None = None
    rows_in: int | None = None
    rows_out: int | None = None
    rows_per_second: float = 0.0
    late_rows: int = 0
    rows_waiting: int | None = None
    watermark: Instant | None = None


@dataclass(frozen=True, slots=True)
class SavepointTask:
    """The newest thing that was to be done with a savepoint, since the control plane was started."""

    kind: str
    state: Literal["running", "done", "failed"]
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Savepoint:
    """A copy of a checkpoint that is kept."""

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


@dataclass(frozen=True, slots=True)
class SavepointFate:
    """What becomes of a savepoint, and why."""

    id: str
    goes: bool
    reason: str


@dataclass(frozen=True, slots=True)
class PruneAnswer:
    """What becomes of the savepoints of a pipeline, oldest first, and the size of those that go."""

    dry_run: bool
    fates: tuple[SavepointFate, ...] = ()
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class UpgradePlan:
    """What becomes of a pipeline's state when another script takes its place; nothing was done."""

    is_refused: bool
    loses_nothing: bool
    text: str
    id: str | None = None
    plan: dict[str, Any] = field(default_factory=dict)
    markdown: str = ""


@dataclass(frozen=True, slots=True)
class RehearsalFailure:
    """Why nothing was compared."""

    code: str
    message: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A script that is tried in the place of the one that runs; `report` says which rows differ, once it is done."""

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
        """Whether it is played no more."""
        return self.state not in ("waiting", "running")


@dataclass(frozen=True, slots=True)
class RolledBackPipeline(Pipeline):
    """A pipeline of which a rollback was asked for: to which version, from which savepoint, which sinks stay ahead."""

    rollback: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForkedPipeline(Pipeline):
    """A new pipeline that goes on from a savepoint of another one."""

    forked_from: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReprocessedPipeline(Pipeline):
    """A new pipeline that reads the input of another one again."""

    reprocesses: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HandOver:
    """How far a pipeline that reads the input of another one again is in taking its place."""

    pipeline: str
    copy_name: str
    step: str
    waits_for: str | None = None
    version: int | None = None


@dataclass(frozen=True, slots=True)
class SinkProgress:
    """How far the output of a sink is complete; `unknown` says why that cannot be known."""

    complete_until: Instant | None = None
    output_until: Instant | None = None
    unknown: str | None = None


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a DAG run relies on that has passed a gate. The control plane keeps it, and names it when it is voided."""

    id: str
    pipeline_id: str
    version: int | None = None
    lineage: str | None = None
    epoch: int | None = None
    complete_until: Instant | None = None
    offsets: dict[str, Any] | None = None
    openlineage: dict[str, Any] | None = None
    """The run of the pipeline, as Airflow's OpenLineage provider reads it in the extra of an event."""

    def summary(self) -> dict[str, Any]:
        """As it crosses from a trigger to a worker, and into XCom."""
        return {
            "id": self.id,
            "pipeline": self.pipeline_id,
            "version": self.version,
            "lineage": self.lineage,
            "epoch": self.epoch,
            "complete_until": None if self.complete_until is None else self.complete_until.isoformat(),
            "offsets": self.offsets,
        }


@dataclass(frozen=True, slots=True)
class PartitionConsumer:
    """Who is told of the buckets of a pipeline as they become complete, and how far it is."""

    id: str
    name: str
    pipeline_id: str
    pipeline: str
    delivered: int
    acked: int


@dataclass(frozen=True, slots=True)
class PartitionDelivery:
    """What a consumer is told of a bucket of event time: that it is complete (`closed`), or that what it was told is
    void (`voided`). A control plane of a later version may tell other things."""

    id: str
    sequence: int
    kind: str
    key: str
    start: Instant
    end: Instant
    certificate: Certificate | None = None


@dataclass(frozen=True, slots=True)
class Deliveries:
    """What a consumer was told and has not acknowledged, oldest first."""

    consumer: PartitionConsumer
    data: tuple[PartitionDelivery, ...]


@dataclass(frozen=True, slots=True)
class Watermark:
    """How far the committed output of a pipeline is complete; `passed` answers the instant that was asked about."""

    state: JobState
    watermark: Instant | None = None
    epoch: int | None = None
    lineage: str | None = None
    passed: bool | None = None
    sources: dict[str, Instant | None] = field(default_factory=dict)
    sinks: dict[str, SinkProgress] = field(default_factory=dict)
    certificate: Certificate | None = None


@dataclass(frozen=True, slots=True)
class PipelineEvent:
    """Something that has happened to a pipeline."""

    message: str
    created_at: Instant
    level: str = "info"
    code: str | None = None
    details: str | None = None
    who: str | None = None


@dataclass(frozen=True, slots=True)
class MoveTask:
    """What a control plane is doing for a move, until it ends."""

    state: Literal["running", "done", "failed"]
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Departure:
    """A move, as the control plane sees it that the pipeline leaves."""

    step: Literal["leaving", "exported", "released", "over"]
    to: str
    place: str
    passport: dict[str, Any]
    key: str | None = field(default=None, repr=False)
    """What lets the other control plane start it; None before it is released."""
    task: MoveTask | None = None

    @property
    def pipeline_id(self) -> str:
        """The pipeline, which keeps its id."""
        return str(self.passport["pipeline_id"])

    @property
    def name(self) -> str:
        """What it is called, here and there."""
        return str(self.passport["name"])


@dataclass(frozen=True, slots=True)
class Arrival:
    """A move, as the control plane sees it that the pipeline comes to."""

    pipeline_id: str
    name: str
    step: str | None = None
    task: MoveTask | None = None
    state: str | None = None
    is_up: bool = False


@dataclass(frozen=True, slots=True)
class Welcome:
    """That a pipeline would be let in."""

    targets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a request was refused."""

    status: int = 0
    code: str | None = None
    title: str | None = None
    detail: str | None = None
    hint: str | None = None


def _table_of(scan: str) -> str:
    """The table that is read, out of words like `Scan changes of orders (id, amount), watermark at`."""
    return scan.partition(" (")[0].removeprefix("Scan ").removeprefix("changes of ")


def read(kind: type[T], data: object) -> T:
    """The JSON value as a `kind`; a value that is not one is a `BadAnswerError`."""
    try:
        answer: T = _adapter(kind).validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole of it"
        message = f"not a {kind.__name__} as this provider knows it: {where}: {first['msg']}"
        raise BadAnswerError(message) from error
    return answer


def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    """Made when the first answer of its kind comes: all of them take as long as all else that a DAG file imports."""
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def read_list(kind: type[T], data: object) -> tuple[T, ...]:
    """The `data` of a list answer; the rest of a list that goes on is not fetched."""
    if not isinstance(data, dict) or not isinstance(data.get("data"), list):
        raise BadAnswerError(f"not a list of {kind.__name__}s")
    return tuple(read(kind, item) for item in data["data"])
