"""How a request changes what is desired of a job. Pure: the changed pipeline, or the reason why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from engine.errors import OtherFormatError, OtherQueryError, PipelineBusyError, PipelineIncompatibleError
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
from engine.jobs.decisions.states import State, StopMode
from engine.jobs.decisions.status import Status

_REFUSED_STATES = (OtherQueryError.code, OtherFormatError.code)


def ask_stop(pipeline: Pipeline, status: Status, mode: StopMode, request: StopRequest) -> Pipeline:
    """Run, or stop in some way. A failed job starts again; a finished one stays as it is. The first to ask for a stop
    is the one who is remembered."""
    if mode == "none" and status.state is State.FAILED and status.restarts_done == pipeline.restarts_asked:
        pipeline = replace(pipeline, restarts_asked=pipeline.restarts_asked + 1, restart_now=False)
    by = None if mode == "none" else pipeline.stop_request or request
    return replace(pipeline, stop=mode, stop_request=by)


def ask_parallelism(pipeline: Pipeline, parallelism: int) -> Pipeline:
    """Go on with that many tasks; the same number changes nothing."""
    return replace(pipeline, parallelism=parallelism)


def ask_tags(pipeline: Pipeline, tags: Mapping[str, str]) -> Pipeline:
    """Replace all tags of the pipeline. Its job does not notice."""
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
    """Refuse what is decided by the state that is there, while that is to give way to a savepoint's: what would be said
    of it, and done with it, would be of another state by then."""
    if pipeline.restore is not None:
        raise PipelineBusyError(
            f"pipeline {pipeline.name!r} is to go back to savepoint {pipeline.restore.savepoint_id} first",
            hint="send the request again in a moment",
        )


def ask_restore(pipeline: Pipeline, restore: Restore) -> Pipeline:
    """Go back to a savepoint; the job then runs at the savepoint's parallelism."""
    refuse_while_restored(pipeline)
    return replace(pipeline, restore=restore, parallelism=restore.parallelism)


def is_settled(pipeline: Pipeline, status: Status) -> bool:
    """Whether nothing that was asked for is still to come: what runs, or rests, is what is desired. A job that fails,
    or starts again after a failure, is as settled as one that runs."""
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
    """The version that only another checkpoint interval makes. It gives up the state that the current one has not given
    up yet."""
    spec = replace(current.spec, checkpoint_interval=interval)
    return replace(current, number=current.number + 1, spec=spec, created_at=now, predecessors=())


def means_the_same(current: Version, spec: Spec, plan: PlannedQuery) -> bool:
    """Whether a spec runs as the current version does: comments and layout of its text make no difference."""
    if (spec.settings, spec.checkpoint_interval) != (current.spec.settings, current.spec.checkpoint_interval):
        return False
    return spec.digest == current.spec.digest if current.meaning is None else plan.meaning == current.meaning


def has_foreign_state(current: Version, plan: PlannedQuery, status: Status) -> bool:
    """Whether the state may be that of another query although nobody has changed this one: another version of the
    engine plans it differently, or a run of it was refused the state."""
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
    """The version that another spec makes. Refused when the state of the old plan does not fit the new one, and no
    `upgrade` says how it is taken over. It gives up, or takes over, the state that the current one has not yet."""
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
    """The version that brings an earlier one's spec back, for a savepoint of it; it gives up no state, since the
    savepoint takes the place of what there is."""
    return plan.as_version(current.pipeline_id, current.number + 1, origin.spec, now)


def ask_version(pipeline: Pipeline, version: Version) -> Pipeline:
    """Go on with another version."""
    return replace(pipeline, version=version.number)
