"""How an action changes what is written down. The record is changed first, then the world."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import assert_never

from engine.instants import FAR_FUTURE
from engine.jobs.actions import (
    AbandonRescale,
    AcceptChore,
    Action,
    Drain,
    Finish,
    GiveUp,
    Kill,
    Launch,
    MarkRunning,
    MarkStopped,
    Recover,
    Repartition,
    RestoreSavepoint,
    Wait,
)
from engine.jobs.spec import Pipeline
from engine.jobs.states import State, may_follow
from engine.jobs.status import Progress, Status


def intend(action: Action, wanted: Pipeline, status: Status, now: datetime) -> tuple[Pipeline, Status]:
    """The wish and the status as they are to be once the action is decided on."""
    match action:
        case Launch():
            return wanted, _launched(wanted, _enter(status, State.SCHEDULING, now), now)
        case MarkRunning():
            return wanted, replace(_enter(status, State.RUNNING, now), running_since=now, failure=None)
        case Drain(to):
            return wanted, _enter(status, to, now)
        case Kill(to, failure):
            return wanted, replace(_enter(status, to, now), failure=failure or status.failure)
        case Repartition():
            return wanted, _enter(status, State.RESCALING, now)
        case RestoreSavepoint():
            return wanted, _enter(status, State.SCHEDULING, now)
        case AcceptChore("rescale", target):
            return wanted, replace(_enter(status, State.SCHEDULING, now), parallelism=int(target))
        case AcceptChore():
            return _restored(wanted, _enter(status, State.SCHEDULING, now))
        case AbandonRescale():
            back = replace(wanted, parallelism=status.parallelism or wanted.parallelism)
            return back, _enter(status, State.SCHEDULING, now)
        case Recover(failure, failures, retry_at):
            failed = replace(status, failure=failure, failures=failures, retry_at=retry_at, running_since=None)
            return wanted, _enter(failed, State.RECOVERING, now)
        case GiveUp(failure):
            ended = replace(_enter(status, State.FAILED, now), failure=failure, finished_at=now, running_since=None)
            return replace(wanted, restore=None), ended
        case Finish():
            done = replace(status.progress, watermark=FAR_FUTURE)
            ended = replace(_enter(status, State.FINISHED, now), progress=done, finished_at=now, running_since=None)
            return wanted, ended
        case MarkStopped():
            rests = _enter(status, State.STOPPED, now)
            return wanted, replace(rests, finished_at=now, running_since=None, failures=0, retry_at=None)
        case Wait():
            return wanted, status
        case never:
            assert_never(never)


def _enter(status: Status, state: State, now: datetime) -> Status:
    """The status in another state; in the same one, nothing changes, the time of entry included."""
    if status.state is state:
        return status
    if not may_follow(status.state, state):
        raise AssertionError(f"{status.state} is never followed by {state}")
    return replace(status, state=state, since=now)


def _launched(wanted: Pipeline, status: Status, now: datetime) -> Status:
    """The status with one more generation, made of what is wanted now."""
    failures = status.failures if wanted.restarts_asked == status.restarts_done else 0
    return replace(
        status,
        since=now,
        generation=status.generation + 1,
        version=wanted.version,
        parallelism=wanted.parallelism,
        restarts_done=wanted.restarts_asked,
        failures=failures,
        retry_at=None,
        started_at=now,
        finished_at=None,
        running_since=None,
        failure=status.failure if failures else None,
    )


def _restored(wanted: Pipeline, status: Status) -> tuple[Pipeline, Status]:
    """The job stands at a savepoint: what it had done since is no longer true."""
    parallelism = wanted.restore.parallelism if wanted.restore else status.parallelism
    return replace(wanted, restore=None), replace(status, parallelism=parallelism, progress=Progress())
