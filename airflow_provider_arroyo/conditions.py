"""Conditions that a task can wait for, as values. `polling.py` polls them, on workers and in triggers.

A trigger stores its condition as plain data. A sensor that starts in the triggerer stores templates in it, which are
rendered there:

    WatermarkSensor(pipeline="orders/hours")
    stored      {"kind": "watermark", "pipeline": "orders/hours", "past": "{{ data_interval_end }}", ...}
    rendered    {"kind": "watermark", "pipeline": "orders/hours", "past": "2026-01-31T05:00:00Z", ...}
    parsed      UntilWatermark("orders", 2026-01-31 05:00, "hours", ...)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache, partial
from typing import Annotated, Any, Literal, TypeAlias, assert_never, get_args

from pydantic import BeforeValidator, Discriminator, TypeAdapter, ValidationError

from airflow_provider_arroyo.durations import to_instant
from airflow_provider_arroyo.responses import JobState

GateTime = Literal["input", "output"]
Goal = Literal["running", "finished", "stopped", "failed"]
Need = Literal["all", "any"]


def _to_goal(value: object) -> object:
    if value not in get_args(Goal):
        raise ValueError(f"state is one of {', '.join(get_args(Goal))}, not {value!r}")
    return value


Past = Annotated[datetime, BeforeValidator(partial(to_instant, name="past"))]
NewerThan = Annotated[datetime, BeforeValidator(partial(to_instant, name="newer_than"))]


@dataclass(frozen=True, slots=True)
class LagBounds:
    """Condition that the lag is `at_most` or `at_least` this much, and was so for `steady`, except by up to `slack`
    within that time."""

    at_most: timedelta | None = None
    at_least: timedelta | None = None
    steady: timedelta = timedelta(0)
    slack: timedelta = timedelta(0)

    def describe(self) -> str:
        """Describe the bounds for a log line."""
        bound = f"at most {self.at_most}" if self.at_most is not None else f"at least {self.at_least}"
        return f"{bound} for {self.steady}" if self.steady else bound


@dataclass(frozen=True, slots=True)
class UntilState:
    """The job is running, finished, or stopped.

    A change takes some time to become visible. So with `after_run` only a later run counts, and the state `before` does
    not count as an end until there is a later run.
    """

    pipeline: str
    goal: Annotated[Goal, BeforeValidator(_to_goal)]
    after_run: int | None = None
    before: JobState | None = None
    title: str | None = None
    """Name of the pipeline for messages, if `pipeline` is its id."""
    kind: Literal["state"] = "state"


@dataclass(frozen=True, slots=True)
class UntilWatermark:
    """The committed output is complete up to `past`, in the sink `table` or in all: by input time it contains all rows
    before `past` that were read, by output time all its rows before `past` are final. A finished job has passed every
    instant. The requesting DAG run gets a certificate."""

    pipeline: str
    past: Past
    table: str | None = None
    by: GateTime = "input"
    dag_id: str | None = None
    run_id: str | None = None
    kind: Literal["watermark"] = "watermark"

    @property
    def name(self) -> str:
        """The pipeline, and the sink where one is named."""
        return self.pipeline if self.table is None else f"{self.pipeline}/{self.table}"


@dataclass(frozen=True, slots=True)
class UntilWatermarks:
    """Several gates: all of them have passed at the same poll, or any has. Only gates that open are certified."""

    gates: tuple[UntilWatermark, ...]
    need: Need = "all"
    kind: Literal["watermarks"] = "watermarks"

    @property
    def pipeline(self) -> str:
        """The pipelines that are waited for, for a message."""
        return ", ".join(dict.fromkeys(gate.pipeline for gate in self.gates))


@dataclass(frozen=True, slots=True)
class UntilCheckpoint:
    """A checkpoint is committed that satisfies all given conditions."""

    pipeline: str
    epoch: int | None = None
    newer_than: NewerThan | None = None
    kind: Literal["checkpoint"] = "checkpoint"


@dataclass(frozen=True, slots=True)
class UntilFresh:
    """The committed output is complete up to some duration before now; there is no certificate."""

    pipeline: str
    at_most: timedelta
    table: str | None = None
    by: GateTime = "input"
    kind: Literal["fresh"] = "fresh"


@dataclass(frozen=True, slots=True)
class UntilLag:
    """The lag of the committed output is within these bounds, and has been for `steady`."""

    pipeline: str
    bounds: LagBounds
    kind: Literal["lag"] = "lag"


@dataclass(frozen=True, slots=True)
class UntilSavepoint:
    """The savepoint is complete."""

    pipeline: str
    savepoint: str
    kind: Literal["savepoint"] = "savepoint"


@dataclass(frozen=True, slots=True)
class UntilProven:
    """A restore test has proven the savepoint. The test is requested whenever none is running."""

    pipeline: str
    savepoint: str
    kind: Literal["proven"] = "proven"


@dataclass(frozen=True, slots=True)
class UntilHandedOver:
    """A pipeline that reads another one's input again has taken its place."""

    pipeline: str
    kind: Literal["hand_over"] = "hand_over"


@dataclass(frozen=True, slots=True)
class UntilPartition:
    """A consumer of time buckets has a delivery that is not acknowledged. A stopped job makes none until it runs again,
    and is waited for."""

    pipeline: str
    consumer: str
    kind: Literal["partition"] = "partition"


@dataclass(frozen=True, slots=True)
class UntilRehearsed:
    """The rehearsal has ended, with any result."""

    pipeline: str
    rehearsal: str
    kind: Literal["rehearsed"] = "rehearsed"


Wait: TypeAlias = (
    UntilState
    | UntilWatermark
    | UntilWatermarks
    | UntilCheckpoint
    | UntilFresh
    | UntilLag
    | UntilSavepoint
    | UntilProven
    | UntilHandedOver
    | UntilPartition
    | UntilRehearsed
)


@cache
def _waits() -> TypeAdapter[Wait]:
    """Return the adapter, which is created for the first wait: it would slow down every file that imports a task."""
    return TypeAdapter(Annotated[Wait, Discriminator("kind")])


def to_json(wait: Wait) -> dict[str, Any]:
    """Return the condition as a trigger's argument."""
    stored: dict[str, Any] = _waits().dump_python(wait, mode="json")
    return stored


def from_json(stored: Mapping[str, Any]) -> Wait:
    """Parse a condition; raise ValueError for anything else."""
    try:
        return _waits().validate_python(_gates(stored) if stored.get("kind") == "watermark" else stored)
    except ValidationError as error:
        first = error.errors()[0]
        if isinstance(reason := first.get("ctx", {}).get("error"), ValueError):
            raise reason from None
        field = ".".join(map(str, first["loc"][1:])) or "the condition"
        raise ValueError(f"{field}: {first['msg']}, not {first['input']!r}") from None


def _gates(stored: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the gate of one pipeline, written `pipeline` or `pipeline/table`, or the gates of a list of them."""
    given = {name: part for name, part in stored.items() if name != "need"}
    pipeline = stored.get("pipeline")
    if isinstance(pipeline, str):
        return _gate(pipeline, given)
    if not isinstance(pipeline, list | tuple) or not all(isinstance(entry, str) for entry in pipeline):
        raise ValueError(f"pipeline is a name, or a list of names, not {pipeline!r}")
    gates = tuple(_gate(entry, given) for entry in pipeline)
    if not gates or len({(gate["pipeline"], gate["table"]) for gate in gates}) < len(gates):
        raise ValueError(f"pipeline names each pipeline, or each of its tables, once, not {list(pipeline)!r}")
    return {"kind": "watermarks", "gates": gates, "need": stored.get("need", "all")}


def _gate(entry: str, given: Mapping[str, Any]) -> dict[str, Any]:
    pipeline, slash, table = entry.partition("/")
    return {**given, "pipeline": pipeline, "table": table if slash else given.get("table")}


def in_run(wait: Wait, dag_id: str, run_id: str) -> Wait:
    """Return the condition with the DAG run to which the certificates of its gates are given."""
    match wait:
        case UntilWatermark():
            return replace(wait, dag_id=dag_id, run_id=run_id)
        case UntilWatermarks(gates):
            return replace(wait, gates=tuple(replace(gate, dag_id=dag_id, run_id=run_id) for gate in gates))
        case _:
            return wait


def describe(wait: Wait) -> str:
    """Describe the condition for a log line."""
    match wait:
        case UntilState(pipeline, goal, title=title):
            return f"pipeline {title or pipeline} to be {goal}"
        case UntilWatermark(pipeline, past, table):
            output = "the output" if table is None else f"sink {table}"
            return f"{output} of pipeline {pipeline} to be complete up to {past.isoformat()}"
        case UntilWatermarks(gates, need):
            return (" and " if need == "all" else " or ").join(map(describe, gates))
        case UntilCheckpoint(pipeline, epoch, newer_than):
            conditions = [f"of epoch {epoch} or later"] if epoch is not None else []
            conditions += [f"newer than {newer_than.isoformat()}"] if newer_than is not None else []
            return f"a checkpoint of pipeline {pipeline} {' and '.join(conditions)}".rstrip()
        case UntilFresh(pipeline, at_most, table):
            output = "the output" if table is None else f"sink {table}"
            return f"{output} of pipeline {pipeline} to be no older than {at_most}"
        case UntilLag(pipeline, bounds):
            return f"the lag of pipeline {pipeline} to be {bounds.describe()}"
        case UntilSavepoint(pipeline, savepoint):
            return f"savepoint {savepoint} of pipeline {pipeline}"
        case UntilProven(pipeline, savepoint):
            return f"the drill of savepoint {savepoint} of pipeline {pipeline}"
        case UntilHandedOver(pipeline):
            return f"pipeline {pipeline} to take over"
        case UntilPartition(pipeline, consumer):
            return f"the next bucket of pipeline {pipeline} to be complete, for {consumer}"
        case UntilRehearsed(pipeline, rehearsal):
            return f"rehearsal {rehearsal} of pipeline {pipeline}"
        case never:
            assert_never(never)
