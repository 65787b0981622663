"""Poll a condition, on a worker or in a trigger.

The lag of a stream over time is computed from its committed epochs. Between two commits it grows with the clock; a
commit reduces it to the lag of its watermark:

    lag        /|     /|
             /  |   /  |    /        maxima: just before a commit, and now
           /    | /    |  /
          /     |/     |/            minima: just after a commit
        --+-----+------+---> clock

So no earlier poll has to be remembered, and another worker or triggerer gets the same result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, assert_never

from airflow_provider_arroyo import consumers, copies, rehearsals, requests, savepoints, watermarks
from airflow_provider_arroyo.awaited_pipelines import AwaitedPipelines
from airflow_provider_arroyo.conditions import (
    GateTime,
    LagBounds,
    UntilCheckpoint,
    UntilFresh,
    UntilHandedOver,
    UntilLag,
    UntilPartition,
    UntilProven,
    UntilRehearsed,
    UntilSavepoint,
    UntilState,
    UntilWatermark,
    UntilWatermarks,
    Wait,
    describe,
)
from airflow_provider_arroyo.errors import DELETED_PIPELINE, ArroyoError, RefusedError
from airflow_provider_arroyo.events import Ended, Event, Reached, TimedOut, broken, end_of, newest_job, summary
from airflow_provider_arroyo.protocols import Backoff, Clock, Conversation, Pause, ask, utc_now
from airflow_provider_arroyo.responses import Checkpoint, JobState

NO_HOLD = timedelta(0)
MOST_EPOCHS = 1000
"""Largest page of epochs; older ones are not requested."""


def watch(
    wait: Wait,
    *,
    now: Clock,
    deadline: datetime | None = None,
    poll: timedelta = timedelta(seconds=5),
    hold: timedelta = timedelta(0),
    backoff: Backoff = Backoff(),  # noqa: B008 - it is frozen
    awaited: Mapping[str, str] | None = None,
) -> Conversation[Event]:
    """Poll until the condition is met or can never be. Failures to connect are retried; a wait never raises them.
    `awaited` are the ids of pipelines that earlier polls have read."""
    failures = 0
    answered = now()
    same = AwaitedPipelines(dict(awaited or {}))
    while True:
        try:
            event = yield from same.watch(look(wait, _until(hold, deadline, now), now))
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
            state = yield from describe_state(wait)
            message = f"waited until {watermarks.spelled(deadline)} for {describe(wait)}; {state}"
            return TimedOut(wait.pipeline, deadline, message)
        pause = backoff.pause(failures) if failures else Pause(poll)
        yield Pause(_until(pause.length, deadline, now))


def describe_state(wait: Wait) -> Conversation[str]:
    """Describe how far an awaited pipeline is, and what holds it; or the error of an unreachable control plane."""
    try:
        match wait:
            case UntilWatermark() as gate:
                progress = yield from ask(watermarks.check_gate(replace(gate, dag_id=None, run_id=None)))
                return _how_far(gate.name, progress, gate.table, gate.by)
            case UntilWatermarks(gates):
                told = []
                for gate in gates:
                    state = yield from describe_state(gate)
                    told.append(state)
                return "; ".join(told)
            case UntilFresh(pipeline, _, table, by):
                progress = yield from ask(watermarks.get_watermark(pipeline))
                return _how_far(pipeline, progress, table, by)
            case _:
                known = yield from ask(requests.get_pipeline(wait.pipeline))
                return f"pipeline {known.name} is {known.state}"
    except ArroyoError as error:
        return f"its progress is unknown: {error}"


def _how_far(name: str, progress: watermarks.Watermark, table: str | None, by: GateTime) -> str:
    until = progress.complete_until(table, by)
    known = (
        "not known to be complete up to any instant" if until is None else f"complete up to {watermarks.spelled(until)}"
    )
    held = "" if progress.held_by is None else f", {progress.held_by.describe()}"
    return f"pipeline {name} is {progress.state} and {known}{held}"


def look(wait: Wait, hold: timedelta = timedelta(0), now: Clock = utc_now) -> Conversation[Event | None]:
    """Poll once; return an event if the wait is over, None if not."""
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
    pipeline = yield from ask(requests.get_pipeline(wait.pipeline))
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
    progress = yield from ask(watermarks.check_gate(wait, hold))
    if progress.passed:
        given = progress.certificate
        certificate = None if given is None else given.summary()
        if certificate is not None and given is not None and given.openlineage is not None:
            certificate["openlineage"] = given.openlineage
        return Reached(wait.pipeline, progress.state, progress.epoch, progress.watermark, certificate)
    return (yield from _ended_if_terminal(wait.pipeline, progress.state))


def _look_at_watermarks(wait: UntilWatermarks, hold: timedelta) -> Conversation[Event | None]:
    """Poll each gate without a certificate first: while another one is closed, nothing relies on it yet."""
    passed: dict[UntilWatermark, Reached] = {}
    ended: list[Event] = []
    for gate in wait.gates:
        may_hold = wait.need == "all" and len(passed) == wait.gates.index(gate)
        event = yield from _look_at_one_of(replace(gate, dag_id=None, run_id=None), hold if may_hold else NO_HOLD)
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


def _look_at_one_of(gate: UntilWatermark, hold: timedelta) -> Conversation[Event | None]:
    """Poll one of several gates; a pipeline that is deleted meanwhile is the end of this gate alone."""
    try:
        return (yield from _look_at_watermark(gate, hold))
    except RefusedError as error:
        if error.code != DELETED_PIPELINE:
            raise
        return broken(gate.pipeline, error)


def _certify(wait: UntilWatermarks, passed: dict[UntilWatermark, Reached]) -> Conversation[Event | None]:
    """Pass the gates in the name of the run; return None if one was closed meanwhile, by a restore for example."""
    parts: dict[str, dict[str, Any]] = {}
    for gate, event in passed.items():
        certified = event if gate.run_id is None else (yield from _look_at_watermark(gate, NO_HOLD))
        if isinstance(certified, Reached):
            parts[gate.name] = summary(certified)
    if not parts or (wait.need == "all" and len(parts) < len(passed)):
        return None
    return Reached(wait.pipeline, event.state, parts=parts)


def _look_at_checkpoints(wait: UntilCheckpoint) -> Conversation[Event | None]:
    pipeline = yield from ask(requests.get_pipeline(wait.pipeline))
    checkpoints: tuple[Checkpoint, ...] = ()
    if pipeline.job_id is not None:
        checkpoints = yield from ask(requests.list_checkpoints(wait.pipeline, pipeline.job_id))
    fitting = [checkpoint for checkpoint in checkpoints if _fits(wait, checkpoint)]
    if fitting:
        newest = max(fitting, key=lambda checkpoint: checkpoint.epoch)
        return Reached(wait.pipeline, pipeline.state, newest.epoch, newest.watermark)
    return (yield from _ended_if_terminal(wait.pipeline, pipeline.state))


def _look_at_lag(wait: UntilLag, now: Clock) -> Conversation[Event | None]:
    pipeline = yield from ask(requests.get_pipeline(wait.pipeline))
    checkpoints: tuple[Checkpoint, ...] = ()
    if pipeline.job_id is not None:
        checkpoints = yield from ask(requests.list_checkpoints(wait.pipeline, pipeline.job_id, limit=MOST_EPOCHS))
    if is_within(wait.bounds, checkpoints, now()):
        newest = max(checkpoints, key=lambda checkpoint: checkpoint.epoch)
        return Reached(wait.pipeline, pipeline.state, newest.epoch, newest.watermark)
    return (yield from _ended_if_terminal(wait.pipeline, pipeline.state))


def is_within(bounds: LagBounds, checkpoints: Sequence[Checkpoint], now: datetime) -> bool:
    """Whether the lag is within the bounds; False while it is unknown for a part of the time."""
    commits = _commits(checkpoints)
    begin = now - bounds.steady
    is_known = bool(commits) and (commits[0][0] <= begin or len(checkpoints) >= MOST_EPOCHS)
    if not is_known:
        return False
    current = now - commits[-1][1]
    least, most = _extremes(commits, begin, now)
    most_allowed, least_allowed = bounds.at_most, bounds.at_least
    is_small = most_allowed is None or (current <= most_allowed and most <= most_allowed + bounds.slack)
    return is_small and (least_allowed is None or (current >= least_allowed and least >= least_allowed - bounds.slack))


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


def _look_at_savepoint(wait: UntilSavepoint) -> Conversation[Event | None]:
    savepoint = yield from ask(savepoints.get_savepoint(wait.pipeline, wait.savepoint))
    if savepoint.state == "pending":
        return None
    pipeline = yield from ask(requests.get_pipeline(wait.pipeline))
    if savepoint.state == "completed":
        return Reached(wait.pipeline, pipeline.state, savepoint.epoch, savepoint.watermark)
    text = savepoint.failure_message or f"savepoint {savepoint.id} failed"
    return Ended(pipeline.name, pipeline.state, "savepoint.failed", text)


def _look_at_drill(wait: UntilProven) -> Conversation[Event | None]:
    savepoint = yield from ask(savepoints.get_savepoint(wait.pipeline, wait.savepoint))
    task = savepoint.task
    if savepoint.proven_at is None and (task is None or (task.kind != "drill" and task.state != "running")):
        # not asked for yet, or the control plane has ended meanwhile, and its drill with it
        savepoint = yield from ask(savepoints.drill_savepoint(wait.pipeline, wait.savepoint))
        task = savepoint.task
    is_over = task is not None and task.kind == "drill" and task.state == "failed"
    if savepoint.proven_at is None and not is_over:
        return None
    pipeline = yield from ask(requests.get_pipeline(wait.pipeline))
    if task is not None and is_over:
        text = f"savepoint {savepoint.id} is not proven to be restorable: {task.message}"
        code = "savepoint.damaged" if savepoint.damage else "savepoint.error"
        return Ended(pipeline.name, pipeline.state, code, text)
    return Reached(wait.pipeline, pipeline.state, savepoint.epoch, savepoint.watermark)


def _look_at_hand_over(wait: UntilHandedOver) -> Conversation[Event | None]:
    hand_over = yield from ask(copies.get_hand_over(wait.pipeline))
    if hand_over.step not in ("over", "given_up", "apart"):
        return None
    pipeline = yield from ask(requests.get_pipeline(hand_over.pipeline))
    if hand_over.step == "over":
        return Reached(wait.pipeline, pipeline.state)
    why = hand_over.waits_for or "it was taken back"
    text = f"{hand_over.copy_name} does not take over from {hand_over.pipeline}: {why}"
    return Ended(pipeline.name, pipeline.state, "pipeline.hand_over", text)


def _look_at_partitions(wait: UntilPartition, hold: timedelta) -> Conversation[Event | None]:
    deliveries = yield from ask(consumers.next_deliveries(wait.consumer, 1, hold))
    if not deliveries.data:
        return None
    pipeline = yield from ask(requests.get_pipeline(deliveries.consumer.pipeline_id))
    return Reached(pipeline.id, pipeline.state)


def _look_at_rehearsal(wait: UntilRehearsed) -> Conversation[Event | None]:
    rehearsal = yield from ask(rehearsals.get_rehearsal(wait.pipeline, wait.rehearsal))
    if not rehearsal.is_over:
        return None
    pipeline = yield from ask(requests.get_pipeline(wait.pipeline))
    return Reached(wait.pipeline, pipeline.state)


def _fits(wait: UntilCheckpoint, checkpoint: Checkpoint) -> bool:
    if checkpoint.finish_time is None:
        return False
    late_enough = wait.epoch is None or checkpoint.epoch >= wait.epoch
    return late_enough and (wait.newer_than is None or checkpoint.finish_time > wait.newer_than)


def _ended_if_terminal(name: str, state: JobState) -> Conversation[Event | None]:
    """Return the end of a job, as its pipeline reports it; None while it changes its state."""
    if not state.is_terminal:
        return None
    pipeline = yield from ask(requests.get_pipeline(name))
    return (yield from end_of(pipeline)) if pipeline.is_at_rest else None


def _until(length: timedelta, deadline: datetime | None, now: Clock) -> timedelta:
    """Return the length, limited by the deadline."""
    return length if deadline is None else max(timedelta(0), min(length, deadline - now()))
