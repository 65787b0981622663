"""Apply an action to the stored status. The status is stored before the action is executed.

A control plane that dies between the two finds the intent when it is back: a status of generation 3 whose process was
never started, and decides again from there. The other way round a driver could run that nothing knows of.

Apply a request to a job's desired state. Pure: returns the changed pipeline, or the reason for a refusal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import assert_never

from engine.errors import OtherFormatError, OtherQueryError, PipelineBusyError, PipelineIncompatibleError
from engine.jobs.decisions.observe import (
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
from engine.jobs.decisions.spec import (
    Pipeline,
    PlannedQuery,
    Restore,
    Spec,
    StopRequest,
    Upgrade,
    Version,
    is_bound_alike,
)
from engine.jobs.decisions.states import State, StopMode, may_follow
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
    """Return the status in another state; in the same state nothing changes, including the time of entry."""
    if status.state is state:
        return status
    assert may_follow(status.state, state), f"{status.state} is never followed by {state}"
    return replace(status, state=state, since=now)


def _launched(desired: Pipeline, status: Status, now: datetime) -> Status:
    """Return the status with one more generation, for the current desired state. A requested start, and the first start
    of another version, reset the count of failures, so that all retries are available."""
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
    """Return the status with another restart scheduled, and its reason."""
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
    """Return the job after a restore: its progress after the savepoint is discarded."""
    parallelism = desired.restore.parallelism if desired.restore else status.parallelism
    return replace(desired, restore=None), replace(status, parallelism=parallelism, progress=Progress())


_REFUSED_STATES = (OtherQueryError.code, OtherFormatError.code)


def ask_stop(pipeline: Pipeline, status: Status, mode: StopMode, request: StopRequest) -> Pipeline:
    """Request a run, or a stop in some way. A failed job starts again; a finished one is unchanged. The first to
    request a stop is recorded."""
    if mode == "none" and status.state is State.FAILED and status.restarts_done == pipeline.restarts_asked:
        pipeline = replace(pipeline, restarts_asked=pipeline.restarts_asked + 1, restart_now=False)
    by = None if mode == "none" else pipeline.stop_request or request
    return replace(pipeline, stop=mode, stop_request=by)


def ask_parallelism(pipeline: Pipeline, parallelism: int) -> Pipeline:
    """Request that many tasks; the same number changes nothing."""
    return replace(pipeline, parallelism=parallelism)


def ask_tags(pipeline: Pipeline, tags: Mapping[str, str]) -> Pipeline:
    """Replace all tags of the pipeline. Its job is not affected."""
    return replace(pipeline, tags=dict(tags))


def ask_restart(pipeline: Pipeline, status: Status, force: bool) -> Pipeline:
    """Start again from the last checkpoint, whatever the state; a finished job has nothing left to do."""
    if status.state is State.FINISHED and not force:
        raise PipelineBusyError(
            f"pipeline {pipeline.name!r} has finished", hint="deploy the query under another name to run it again"
        )
    restarts = pipeline.restarts_asked + 1
    return replace(pipeline, stop="none", stop_request=None, restarts_asked=restarts, restart_now=force)


def refuse_while_restored(pipeline: Pipeline) -> None:
    """Refuse a request that depends on the current state while a restore is to replace that state."""
    if pipeline.restore is not None:
        raise PipelineBusyError(
            f"pipeline {pipeline.name!r} is to go back to savepoint {pipeline.restore.savepoint_id} first",
            hint="send the request again in a moment",
        )


def ask_restore(pipeline: Pipeline, restore: Restore) -> Pipeline:
    """Request a restore; the job then runs at the savepoint's parallelism."""
    refuse_while_restored(pipeline)
    return replace(pipeline, restore=restore, parallelism=restore.parallelism)


def is_settled(pipeline: Pipeline, status: Status) -> bool:
    """Whether no requested change is pending: the job runs, or is stopped, as desired. A job that fails, or restarts
    after a failure, counts as settled, too."""
    if pipeline.restore is not None:
        return False
    if pipeline.stop != "none":
        return status.state.is_terminal
    if pipeline.restarts_asked > status.restarts_done or pipeline.version != status.version:
        return False
    if status.state in (State.FINISHED, State.FAILED):
        return True
    is_leaving = status.state in (State.CHECKPOINT_STOPPING, State.STOPPING, State.RESCALING)
    return not is_leaving and status.state is not State.STOPPED and pipeline.parallelism == status.parallelism


def other_interval(current: Version, interval: timedelta | None, now: datetime) -> Version:
    """Return the version that differs only in the checkpoint interval. It discards the state that the current one has
    yet to discard."""
    spec = replace(current.spec, checkpoint_interval=interval)
    return replace(current, number=current.number + 1, spec=spec, created_at=now, predecessors=())


def means_the_same(current: Version, spec: Spec, plan: PlannedQuery) -> bool:
    """Whether a spec runs like the current version: comments and layout of its text make no difference."""
    if (spec.settings, spec.checkpoint_interval) != (current.spec.settings, current.spec.checkpoint_interval):
        return False
    return spec.digest == current.spec.digest if current.meaning is None else plan.meaning == current.meaning


def has_foreign_state(current: Version, plan: PlannedQuery, status: Status) -> bool:
    """Whether the state may belong to another query although this one is unchanged: another version of the engine plans
    it differently, or a run of it was refused the state."""
    is_refused = status.failure is not None and status.failure.code in _REFUSED_STATES
    return not is_bound_alike(current, plan) or (status.state is State.FAILED and is_refused)


def describe_change(before: Pipeline | None, after: Pipeline) -> str:
    """Describe the requested change for the owner of the job."""
    if before is None:
        return f"version {after.version} was deployed"
    changes: list[str] = []
    if after.version != before.version:
        changes.append(f"version {after.version} was deployed")
    if after.stop != before.stop:
        changes.append("start requested" if after.stop == "none" else f"stop requested ({after.stop})")
    if after.restarts_asked > before.restarts_asked:
        changes.append("restart requested")
    if after.restore is not None and after.restore != before.restore:
        changes.append(f"restore of savepoint {after.restore.savepoint_id} requested")
    if after.parallelism != before.parallelism:
        changes.append(f"parallelism set to {after.parallelism}")
    if after.tags != before.tags:
        changes.append(f"tags set to {_tag_list(after.tags)}" if after.tags else "tags removed")
    return ", ".join(changes) or "secrets changed"


def _tag_list(tags: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value}" if value else key for key, value in sorted(tags.items()))


def next_version(
    current: Version,
    spec: Spec,
    plan: PlannedQuery,
    now: datetime,
    *,
    force: bool,
    has_state: bool,
    upgrade: Upgrade | None = None,
) -> Version:
    """Return the version for another spec. Raise if the state of the old plan does not fit the new one, and no
    `upgrade` describes how to take it over. It discards, or takes over, the state that the current one has yet to
    discard or take over."""
    fits = is_bound_alike(current, plan)
    if upgrade is None and not force and fits:
        upgrade = current.upgrade
    if not (fits or force or upgrade) and has_state:
        raise PipelineIncompatibleError(
            "the pipeline has state that belongs to another plan than this query's",
            hint="deploy the query under another name, or use force to give up the state",
        )
    return plan.as_version(
        current.pipeline_id,
        current.number + 1,
        spec,
        now,
        force=upgrade is None and (force or not fits or current.force),
        upgrade=None if force else upgrade,
    )


def earlier_version(current: Version, origin: Version, plan: PlannedQuery, now: datetime) -> Version:
    """Return the version that restores an earlier one's spec, for a savepoint of it; it discards no state, since the
    savepoint replaces the state."""
    return plan.as_version(current.pipeline_id, current.number + 1, origin.spec, now)


def ask_version(pipeline: Pipeline, version: Version) -> Pipeline:
    """Request another version."""
    return replace(pipeline, version=version.number)
