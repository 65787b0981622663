"""Conditions that a task can wait for, as values. `polling.py` polls them, on workers and in triggers.

Compute the lag of a stream over time from its committed epochs.

Between two commits the lag grows with the clock; a commit reduces it to the lag of its watermark:

    lag        /|     /|
             /  |   /  |    /        maxima: just before a commit, and now
           /    | /    |  /
          /     |/     |/            minima: just after a commit
        --+-----+------+---> clock

So no earlier poll has to be remembered, and another worker or triggerer gets the same result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias, assert_never, cast, get_args

from pydantic import Discriminator, TypeAdapter

from airflow_provider_arroyo.durations import to_instant
from airflow_provider_arroyo.requests import GateTime
from airflow_provider_arroyo.responses import Checkpoint, JobState

Goal = Literal["running", "finished", "stopped", "failed"]


def state(pipeline: str, goal: str) -> UntilState:
    """Return the condition for a state of the job; raise for a state that cannot be awaited."""
    if goal not in get_args(Goal):
        raise ValueError(f"state is one of {', '.join(get_args(Goal))}, not {goal!r}")
    return UntilState(pipeline, cast("Goal", goal))


def checkpoint(pipeline: str, epochs: list[int], newer_than: datetime | str | None) -> UntilCheckpoint:
    """Return the condition for a checkpoint of the latest of these epochs or a later one, committed after an
    instant."""
    instant = None if newer_than is None else to_instant(newer_than, "newer_than")
    return UntilCheckpoint(pipeline, max(epochs, default=None), instant)


def watermark(
    pipeline: object, past: datetime, table: str | None, by: GateTime, need: Need, run: tuple[str, str]
) -> UntilWatermark | UntilWatermarks:
    """Return the gate of one pipeline, written `pipeline` or `pipeline/table`, or the gates of a list of them."""
    if isinstance(pipeline, str):
        return _gate(pipeline, past, table, by, run)
    if not isinstance(pipeline, list | tuple) or not all(isinstance(entry, str) for entry in pipeline):
        raise ValueError(f"pipeline is a name, or a list of names, not {pipeline!r}")
    gates = tuple(_gate(entry, past, table, by, run) for entry in pipeline)
    if not gates or len({gate.name for gate in gates}) < len(gates):
        raise ValueError(f"pipeline names each pipeline, or each of its tables, once, not {list(pipeline)!r}")
    return UntilWatermarks(gates, need)


def _gate(entry: str, past: datetime, table: str | None, by: GateTime, run: tuple[str, str]) -> UntilWatermark:
    pipeline, slash, named = entry.partition("/")
    return UntilWatermark(pipeline, past, named if slash else table, by, *run)


def in_triggerer(sensor: str, arguments: Mapping[str, Any], dag_id: str, run_id: str) -> Wait:
    """Return the condition of a sensor that has started in the triggerer; arguments are rendered, durations are
    seconds."""
    pipeline = str(arguments["pipeline"])
    match sensor:
        case "watermark":
            past = to_instant(arguments["past"], "past")
            table, by, need = arguments["table"], cast("GateTime", arguments["by"]), arguments.get("need", "all")
            return watermark(arguments["pipeline"], past, table, by, need, (dag_id, run_id))
        case "fresh":
            at_most = timedelta(seconds=arguments["at_most"])
            return UntilFresh(pipeline, at_most, arguments["table"], cast("GateTime", arguments["by"]))
        case "lag":
            most, least, steady, slack = (
                None if arguments[name] is None else timedelta(seconds=arguments[name])
                for name in ("at_most", "at_least", "steady", "slack")
            )
            return UntilLag(pipeline, LagBounds(most, least, steady or timedelta(0), slack or timedelta(0)))
        case "checkpoint":
            epoch = arguments["epoch"]
            return checkpoint(pipeline, [] if epoch is None else [int(epoch)], arguments["newer_than"])
        case "state":
            return state(pipeline, str(arguments["state"]))
    raise ValueError(f"no sensor {sensor!r} starts in the triggerer")


MOST_EPOCHS = 1000
"""Largest page of epochs; older ones are not requested."""


@dataclass(frozen=True, slots=True)
class LagBounds:
    """Condition that the lag is `at_most` or `at_least` this much, and was so for `steady`, except by up to `slack`
    within that time."""

    at_most: timedelta | None = None
    at_least: timedelta | None = None
    steady: timedelta = timedelta(0)
    slack: timedelta = timedelta(0)

    def hold(self, checkpoints: Sequence[Checkpoint], now: datetime) -> bool:
        """Whether the lag is within the bounds; False while it is unknown for a part of the time."""
        commits = _commits(checkpoints)
        begin = now - self.steady
        is_known = bool(commits) and (commits[0][0] <= begin or len(checkpoints) >= MOST_EPOCHS)
        if not is_known:
            return False
        current = now - commits[-1][1]
        least, most = _extremes(commits, begin, now)
        within = self.at_most is None or (current <= self.at_most and most <= self.at_most + self.slack)
        return within and (self.at_least is None or (current >= self.at_least and least >= self.at_least - self.slack))

    def describe(self) -> str:
        """Describe the bounds for a log line."""
        bound = f"at most {self.at_most}" if self.at_most is not None else f"at least {self.at_least}"
        return f"{bound} for {self.steady}" if self.steady else bound


def _commits(checkpoints: Sequence[Checkpoint]) -> list[tuple[datetime, datetime]]:
    """Return the commit time and watermark of each epoch, oldest first."""
    known = ((one.finish_time, one.watermark) for one in checkpoints)
    return sorted((at, watermark) for at, watermark in known if at is not None and watermark is not None)


def _extremes(
    commits: Sequence[tuple[datetime, datetime]], begin: datetime, now: datetime
) -> tuple[timedelta, timedelta]:
    """Return the minimum and the maximum of the lag from `begin` to `now`."""
    ends = [at for at, _ in commits[1:]] + [now]
    spans = [(max(at, begin), end, watermark) for (at, watermark), end in zip(commits, ends, strict=True)]
    shown = [span for span in spans if span[1] >= begin]
    least = min(start - watermark for start, _, watermark in shown)
    return least, max(end - watermark for _, end, watermark in shown)


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
    """Return the adapter, which is created for the first wait: it would slow down every file that imports a task."""
    return TypeAdapter(Annotated[Wait, Discriminator("kind")])


def to_json(wait: Wait) -> dict[str, Any]:
    """Return the condition as a trigger's argument."""
    stored: dict[str, Any] = _waits().dump_python(wait, mode="json")
    return stored


def from_json(stored: object) -> Wait:
    """Parse a condition."""
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
