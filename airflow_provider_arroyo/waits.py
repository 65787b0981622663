"""Conditions that a task can wait for, as values. `looks.py` polls them, on workers and in triggers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias, assert_never

from pydantic import Discriminator, TypeAdapter

from airflow_provider_arroyo.calls import GateTime
from airflow_provider_arroyo.lag import LagBounds
from airflow_provider_arroyo.states import JobState

Need = Literal["all", "any"]


@dataclass(frozen=True, slots=True)
class UntilState:
    """The job is running, finished, or stopped.

    A change takes some time to become visible. So with `after_run` only a later run counts, and the state `before` does
    not count as an end until there is a later run.
    """

    pipeline: str
    goal: Literal["running", "finished", "stopped", "failed"]
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
    past: datetime
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
    newer_than: datetime | None = None
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
    """Made where the first wait is stored: it takes too long for every file that imports a task."""
    return TypeAdapter(Annotated[Wait, Discriminator("kind")])


def to_json(wait: Wait) -> dict[str, Any]:
    """The wait as a trigger's argument."""
    stored: dict[str, Any] = _waits().dump_python(wait, mode="json")
    return stored


def from_json(stored: object) -> Wait:
    """The wait as it was."""
    return _waits().validate_python(stored)


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
