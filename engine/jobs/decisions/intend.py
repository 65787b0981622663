"""How an action changes what is written down. The record is changed first, then the world.

A control plane that dies between the two finds the intent when it is back: a status of generation 3 whose process was
never started, and decides again from there. The other way round a driver could run that nothing knows of.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import assert_never

from engine.jobs.decisions.actions import (
    AbandonRescale,
    AcceptMaintenance,
    Action,
    Drain,
    EndMaintenance,
    Finish,
    ForgetFailures,
    GiveUp,
    Kill,
    Launch,
    MaintenanceTask,
    MarkRunning,
    MarkStopped,
    Recover,
    Repartition,
    RestoreSavepoint,
    Wait,
)
from engine.jobs.decisions.spec import Pipeline
from engine.jobs.decisions.states import State, may_follow
from engine.jobs.decisions.status import Progress, Status
from engine.values.instants import FAR_FUTURE


def intend(action: Action, desired: Pipeline, status: Status, now: datetime) -> tuple[Pipeline, Status]:
    """Return the desired state and the status after an action."""
    match action:
        case Launch():
            return desired, _launched(desired, _enter(status, State.SCHEDULING, now), now)
        case MarkRunning():
            return desired, replace(_enter(status, State.RUNNING, now), running_since=now, failure=None)
        case ForgetFailures():
            return desired, replace(status, failures=0, outages=0)
        case Drain(to):
            return desired, _enter(status, to, now)
        case Kill(to, failure):
            return desired, replace(_enter(status, to, now), failure=failure or status.failure)
        case Repartition():
            return desired, _enter(status, State.RESCALING, now)
        case RestoreSavepoint():
            # From here on the state may be the savepoint's, also if the work on it is cut short.
            return desired, replace(_enter(status, State.SCHEDULING, now), progress=Progress())
        case AcceptMaintenance(task):
            return _accepted(task, desired, _enter(status, State.SCHEDULING, now))
        case AbandonRescale():
            back = replace(desired, parallelism=status.parallelism or desired.parallelism)
            return back, _enter(status, State.SCHEDULING, now)
        case Recover():
            return desired, _enter(_failed(status, action), State.RECOVERING, now)
        case GiveUp(failure):
            ended = replace(_enter(status, State.FAILED, now), failure=failure, finished_at=now, running_since=None)
            return replace(desired, restore=None), ended
        case Finish():
            progress = replace(status.progress, watermark=FAR_FUTURE)
            ended = replace(_enter(status, State.FINISHED, now), progress=progress, finished_at=now, running_since=None)
            return desired, ended
        case MarkStopped():
            rests = _enter(status, State.STOPPED, now)
            return desired, replace(
                rests, finished_at=now, running_since=None, failures=0, outages=0, failure_times=(), retry_at=None
            )
        case Wait() | EndMaintenance():
            return desired, status
        case never:
            assert_never(never)


def _enter(status: Status, state: State, now: datetime) -> Status:
    """The status in another state; in the same one, nothing changes, the time of entry included."""
    if status.state is state:
        return status
    assert may_follow(status.state, state), f"{status.state} is never followed by {state}"
    return replace(status, state=state, since=now)


def _launched(desired: Pipeline, status: Status, now: datetime) -> Status:
    """The status with one more generation, made of what is desired now. A start that was asked for, and the first of
    another version, clear the count of failures, so that they have all their tries."""
    is_asked = desired.restarts_asked != status.restarts_done or desired.version != status.version
    failures, outages = (0, 0) if is_asked else (status.failures, status.outages)
    failure_times = () if is_asked else status.failure_times
    return replace(
        status,
        since=now,
        generation=status.generation + 1,
        version=desired.version,
        parallelism=desired.parallelism,
        restarts_done=desired.restarts_asked,
        failures=failures,
        outages=outages,
        failure_times=failure_times,
        retry_at=None,
        started_at=now,
        finished_at=None,
        running_since=None,
        failure=status.failure if failures or outages else None,
    )


def _failed(status: Status, recover: Recover) -> Status:
    """The status with one more restart to come, and why."""
    return replace(
        status,
        failure=recover.failure,
        failures=recover.failures,
        outages=recover.outages,
        failure_times=recover.failure_times,
        retry_at=recover.retry_at,
        restarts=status.restarts + 1,
        restart_code=recover.failure.code,
        running_since=None,
    )


def _accepted(task: MaintenanceTask, desired: Pipeline, status: Status) -> tuple[Pipeline, Status]:
    match task:
        case Repartition(parallelism):
            return desired, replace(status, parallelism=parallelism)
        case RestoreSavepoint():
            return _restored(desired, status)
        case never:
            assert_never(never)


def _restored(desired: Pipeline, status: Status) -> tuple[Pipeline, Status]:
    """The job stands at a savepoint: what it did after it is no longer true."""
    parallelism = desired.restore.parallelism if desired.restore else status.parallelism
    return replace(desired, restore=None), replace(status, parallelism=parallelism, progress=Progress())
