"""What a task can wait for, and how one sees that it is there. The same for workers and triggers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias, assert_never

from pydantic import Discriminator, TypeAdapter

from airflow_provider_arroyo import calls
from airflow_provider_arroyo.answers import Checkpoint, Job, Pipeline
from airflow_provider_arroyo.calls import GateTime
from airflow_provider_arroyo.conversations import Backoff, Clock, Conversation, Pause, ask, utc_now
from airflow_provider_arroyo.errors import ArroyoError
from airflow_provider_arroyo.events import Ended, Event, Reached, TimedOut, broken, summary
from airflow_provider_arroyo.lag import MOST_EPOCHS, LagBounds
from airflow_provider_arroyo.states import JobState

Need = Literal["all", "any"]

NO_HOLD = timedelta(0)


@dataclass(frozen=True, slots=True)
class UntilState:
    """The job runs, is finished, or is at rest.

    What was asked for is not done at once, so a job may be seen for a moment as it was: with `after_run` only a later
    run counts, and the state `before` is not taken for an end while there is none.
    """

    pipeline: str
    goal: Literal["running", "finished", "stopped", "failed"]
    after_run: int | None = None
    before: JobState | None = None
    kind: Literal["state"] = "state"


@dataclass(frozen=True, slots=True)
class UntilWatermark:
    """The committed output is complete up to `past`, in the sink `table` or in all: by input time all rows before it
    that were read are in it, by output time all that it will ever hold before it. A finished job has passed every
    instant. The DAG run that asks gets a certificate."""

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
    """Several gates at once: all of them are passed at one look, or any is. Only gates that open are certified."""

    gates: tuple[UntilWatermark, ...]
    need: Need = "all"
    kind: Literal["watermarks"] = "watermarks"

    @property
    def pipeline(self) -> str:
        """The pipelines that are waited for, for a message."""
        return ", ".join(dict.fromkeys(gate.pipeline for gate in self.gates))


@dataclass(frozen=True, slots=True)
class UntilCheckpoint:
    """A checkpoint is committed that satisfies every condition that is given."""

    pipeline: str
    epoch: int | None = None
    newer_than: datetime | None = None
    kind: Literal["checkpoint"] = "checkpoint"


@dataclass(frozen=True, slots=True)
class UntilFresh:
    """The committed output is complete up to so long before now; nothing gets a certificate of it."""

    pipeline: str
    at_most: timedelta
    table: str | None = None
    by: GateTime = "input"
    kind: Literal["fresh"] = "fresh"


@dataclass(frozen=True, slots=True)
class UntilLag:
    """The watermark of committed output is, and has been for `steady`, behind the clock within these bounds."""

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
    """The savepoint is proven to be restorable by a drill, which is asked for whenever nobody plays it."""

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
    """There is something that a consumer of partitions of the pipeline was not told, or has not acknowledged. A job
    that rests tells nothing more until it goes on, and is waited for."""

    pipeline: str
    consumer: str
    kind: Literal["partition"] = "partition"


@dataclass(frozen=True, slots=True)
class UntilRehearsed:
    """The rehearsal is over, whatever came of it."""

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
    """What is waited for, for a log line."""
    match wait:
        case UntilState(pipeline, goal):
            return f"pipeline {pipeline} to be {goal}"
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


def watch(
    wait: Wait,
    *,
    now: Clock,
    deadline: datetime | None = None,
    poll: timedelta = timedelta(seconds=5),
    hold: timedelta = timedelta(0),
    backoff: Backoff = Backoff(),  # noqa: B008 - it is frozen
) -> Conversation[Event]:
    """Look until there is something to tell. Failures to connect are waited out; a wait never raises them."""
    failures = 0
    answered = now()
    while True:
        try:
            event = yield from look(wait, _until(hold, deadline, now), now)
        except ArroyoError as error:
            event = None
            failures += 1
            if now() - answered >= error.patience:
                return broken(wait.pipeline, error)
        else:
            failures = 0
            answered = now()
        if event is not None:
            return event
        if deadline is not None and now() >= deadline:
            return TimedOut(wait.pipeline, deadline, f"waited until {deadline.isoformat()} for {describe(wait)}")
        pause = backoff.pause(failures) if failures else Pause(poll)
        yield Pause(_until(pause.length, deadline, now))


def look(wait: Wait, hold: timedelta = timedelta(0), now: Clock = utc_now) -> Conversation[Event | None]:
    """Look once: an event when there is something to tell, None when not yet."""
    match wait:
        case UntilState():
            return (yield from _look_at_state(wait))
        case UntilWatermark():
            return (yield from _look_at_watermark(wait, hold))
        case UntilWatermarks():
            return (yield from _look_at_watermarks(wait, hold))
        case UntilCheckpoint():
            return (yield from _look_at_checkpoints(wait))
        case UntilFresh():
            gate = UntilWatermark(wait.pipeline, now() - wait.at_most, wait.table, wait.by)
            return (yield from _look_at_watermark(gate, timedelta(0)))
        case UntilLag():
            return (yield from _look_at_lag(wait, now))
        case UntilSavepoint():
            return (yield from _look_at_savepoint(wait))
        case UntilProven():
            return (yield from _look_at_drill(wait))
        case UntilHandedOver():
            return (yield from _look_at_hand_over(wait))
        case UntilPartition():
            return (yield from _look_at_partitions(wait, hold))
        case UntilRehearsed():
            return (yield from _look_at_rehearsal(wait))
        case never:
            assert_never(never)


def _look_at_state(wait: UntilState) -> Conversation[Event | None]:
    pipeline = yield from ask(calls.get_pipeline(wait.pipeline))
    if wait.after_run is not None and (pipeline.state is wait.before or not pipeline.state.is_terminal):
        job = yield from newest_job(pipeline)
        if job is None or job.run_id <= wait.after_run:
            return None
    match wait.goal, pipeline.state:
        case ("running", JobState.RUNNING) | ("running" | "finished" | "stopped", JobState.FINISHED):
            return Reached(wait.pipeline, pipeline.state)
        case "failed", JobState.FAILED if pipeline.is_at_rest:
            return Reached(wait.pipeline, pipeline.state)
        case "stopped", JobState.STOPPED if pipeline.is_at_rest:
            return Reached(wait.pipeline, pipeline.state)
        case _:
            return (yield from end_of(pipeline)) if pipeline.is_at_rest else None


def _look_at_watermark(wait: UntilWatermark, hold: timedelta) -> Conversation[Event | None]:
    gate = calls.Gate(wait.past, wait.table, wait.by, wait.dag_id, wait.run_id)
    progress = yield from ask(calls.get_watermark(wait.pipeline, gate, hold))
    if progress.passed:
        given = progress.certificate
        certificate = None if given is None else given.summary()
        if certificate is not None and given is not None and given.openlineage is not None:
            certificate["openlineage"] = given.openlineage
        return Reached(wait.pipeline, progress.state, progress.epoch, progress.watermark, certificate)
    return (yield from _ended_if_terminal(wait.pipeline, progress.state))


def _look_at_watermarks(wait: UntilWatermarks, hold: timedelta) -> Conversation[Event | None]:
    """Look at each gate without a certificate first: while another one is still shut, nobody relies on it yet."""
    passed: dict[UntilWatermark, Reached] = {}
    ended: list[Event] = []
    for gate in wait.gates:
        may_hold = wait.need == "all" and len(passed) == wait.gates.index(gate)
        event = yield from _look_at_watermark(replace(gate, dag_id=None, run_id=None), hold if may_hold else NO_HOLD)
        match event:
            case Reached():
                passed[gate] = event
            case None:
                pass
            case _:
                ended.append(event)
    if ended and (wait.need == "all" or len(ended) == len(wait.gates)):
        return ended[0]
    if not passed or (wait.need == "all" and len(passed) < len(wait.gates)):
        return None
    return (yield from _certify(wait, passed))


def _certify(wait: UntilWatermarks, passed: dict[UntilWatermark, Reached]) -> Conversation[Event | None]:
    """Pass the gates in the name of the run; None when one has been shut meanwhile, by a restore for example."""
    parts: dict[str, dict[str, Any]] = {}
    for gate, event in passed.items():
        certified = event if gate.run_id is None else (yield from _look_at_watermark(gate, NO_HOLD))
        if isinstance(certified, Reached):
            parts[gate.name] = summary(certified)
    if not parts or (wait.need == "all" and len(parts) < len(passed)):
        return None
    return Reached(wait.pipeline, event.state, parts=parts)


def _look_at_checkpoints(wait: UntilCheckpoint) -> Conversation[Event | None]:
    pipeline = yield from ask(calls.get_pipeline(wait.pipeline))
    checkpoints: tuple[Checkpoint, ...] = ()
    if pipeline.job_id is not None:
        checkpoints = yield from ask(calls.list_checkpoints(wait.pipeline, pipeline.job_id))
    fitting = [checkpoint for checkpoint in checkpoints if _fits(wait, checkpoint)]
    if fitting:
        newest = max(fitting, key=lambda checkpoint: checkpoint.epoch)
        return Reached(wait.pipeline, pipeline.state, newest.epoch, newest.watermark)
    return (yield from _ended_if_terminal(wait.pipeline, pipeline.state))


def _look_at_lag(wait: UntilLag, now: Clock) -> Conversation[Event | None]:
    pipeline = yield from ask(calls.get_pipeline(wait.pipeline))
    checkpoints: tuple[Checkpoint, ...] = ()
    if pipeline.job_id is not None:
        checkpoints = yield from ask(calls.list_checkpoints(wait.pipeline, pipeline.job_id, limit=MOST_EPOCHS))
    if wait.bounds.hold(checkpoints, now()):
        newest = max(checkpoints, key=lambda checkpoint: checkpoint.epoch)
        return Reached(wait.pipeline, pipeline.state, newest.epoch, newest.watermark)
    return (yield from _ended_if_terminal(wait.pipeline, pipeline.state))


def _look_at_savepoint(wait: UntilSavepoint) -> Conversation[Event | None]:
    savepoint = yield from ask(calls.get_savepoint(wait.pipeline, wait.savepoint))
    if savepoint.state == "pending":
        return None
    pipeline = yield from ask(calls.get_pipeline(wait.pipeline))
    if savepoint.state == "completed":
        return Reached(wait.pipeline, pipeline.state, savepoint.epoch, savepoint.watermark)
    text = savepoint.failure_message or f"savepoint {savepoint.id} failed"
    return Ended(wait.pipeline, pipeline.state, "savepoint.failed", text)


def _look_at_drill(wait: UntilProven) -> Conversation[Event | None]:
    savepoint = yield from ask(calls.get_savepoint(wait.pipeline, wait.savepoint))
    task = savepoint.task
    if savepoint.proven_at is None and (task is None or (task.kind != "drill" and task.state != "running")):
        # not asked for yet, or the control plane has ended meanwhile, and its drill with it
        savepoint = yield from ask(calls.drill_savepoint(wait.pipeline, wait.savepoint))
        task = savepoint.task
    is_over = task is not None and task.kind == "drill" and task.state == "failed"
    if savepoint.proven_at is None and not is_over:
        return None
    pipeline = yield from ask(calls.get_pipeline(wait.pipeline))
    if task is not None and is_over:
        text = f"savepoint {savepoint.id} is not proven to be restorable: {task.message}"
        code = "savepoint.damaged" if savepoint.damage else "savepoint.error"
        return Ended(wait.pipeline, pipeline.state, code, text)
    return Reached(wait.pipeline, pipeline.state, savepoint.epoch, savepoint.watermark)


def _look_at_hand_over(wait: UntilHandedOver) -> Conversation[Event | None]:
    hand_over = yield from ask(calls.get_hand_over(wait.pipeline))
    if hand_over.step not in ("over", "given_up", "apart"):
        return None
    pipeline = yield from ask(calls.get_pipeline(hand_over.pipeline))
    if hand_over.step == "over":
        return Reached(wait.pipeline, pipeline.state)
    why = hand_over.waits_for or "it was taken back"
    text = f"{hand_over.copy_name} does not take over from {hand_over.pipeline}: {why}"
    return Ended(wait.pipeline, pipeline.state, "pipeline.hand_over", text)


def _look_at_partitions(wait: UntilPartition, hold: timedelta) -> Conversation[Event | None]:
    deliveries = yield from ask(calls.next_deliveries(wait.consumer, 1, hold))
    if not deliveries.data:
        return None
    pipeline = yield from ask(calls.get_pipeline(deliveries.consumer.pipeline_id))
    return Reached(pipeline.id, pipeline.state)


def _look_at_rehearsal(wait: UntilRehearsed) -> Conversation[Event | None]:
    rehearsal = yield from ask(calls.get_rehearsal(wait.pipeline, wait.rehearsal))
    if not rehearsal.is_over:
        return None
    pipeline = yield from ask(calls.get_pipeline(wait.pipeline))
    return Reached(wait.pipeline, pipeline.state)


def _fits(wait: UntilCheckpoint, checkpoint: Checkpoint) -> bool:
    if checkpoint.finish_time is None:
        return False
    late_enough = wait.epoch is None or checkpoint.epoch >= wait.epoch
    return late_enough and (wait.newer_than is None or checkpoint.finish_time > wait.newer_than)


def _ended_if_terminal(name: str, state: JobState) -> Conversation[Event | None]:
    """The end of a job, as its pipeline tells it now; None when it is on its way to another state."""
    if not state.is_terminal:
        return None
    pipeline = yield from ask(calls.get_pipeline(name))
    return (yield from end_of(pipeline)) if pipeline.is_at_rest else None


def end_of(pipeline: Pipeline) -> Conversation[Ended]:
    """The end of a job, with the job's own words when it failed."""
    hint: str | None = None
    is_mistake = False
    match pipeline.state:
        case JobState.FAILED:
            job = yield from newest_job(pipeline)
            hint = job.failure_hint if job else None
            is_mistake = job is not None and job.failure_cause == "mistake"
            code = (job and job.failure_code) or "pipeline.failed"
            message = (job and job.failure_message) or "the job failed and did not say why"
        case JobState.FINISHED:
            code, message = "pipeline.finished", "its input has ended"
        case _:
            code, message = "pipeline.stopped", f"it was stopped by {pipeline.who_stopped_it}"
    return Ended(pipeline.id, pipeline.state, code, message, hint, is_mistake)


def newest_job(pipeline: Pipeline) -> Conversation[Job | None]:
    """The job that a pipeline has now; None before its first."""
    jobs = yield from ask(calls.list_jobs(pipeline.id))
    current = [job for job in jobs if job.id == pipeline.job_id]
    return max(current or jobs, key=lambda job: job.run_id, default=None)


def _until(length: timedelta, deadline: datetime | None, now: Clock) -> timedelta:
    """The length, cut off at the deadline."""
    return length if deadline is None else max(timedelta(0), min(length, deadline - now()))
