"""Automatic rollback: an upgrade whose query fails before its first epoch is rolled back.

    version 1 runs, version 2 takes over its state and fails at its first epoch repeatedly, until restarts are used up
    the savepoint that version 2's driver has taken of the old state is restored, and version 3 is version 1 again

Nothing was committed since that savepoint, so nothing is read or written twice.

Decide the end of a hand-over whose last step makes no epoch. Pure.

orders should continue with the query and the state of orders-again. A quarter of an hour later it

    runs without input                      done
    is still building the state             wait, since that has limits of its own
    was stopped by a user                   wait
    starts repeatedly                       stop it, so that nothing changes, and then, if it
        has planned no epoch                roll it back to its own query and state
        has planned one                     continue, done: sinks may have rows of it
        has no saved state of its own       continue, done: a rollback is impossible
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from sqlalchemy import Connection

from engine.control.context import Context
from engine.control.upgrades.plan_restore import RestorePlan, plan_restore
from engine.errors import EngineError
from engine.jobs.actors import CONTROL_PLANE, JobRecord
from engine.jobs.decisions import intend
from engine.jobs.decisions.spec import Upgrade
from engine.jobs.decisions.states import State
from engine.jobs.decisions.status import JobEvent
from engine.store import savepoints
from engine.store.jobs import events
from engine.store.jobs.records import read_page, read_record
from engine.store.pipelines import pipelines, versions
from engine.store.pipelines.reprocessings import Reprocessing
from engine.store.savepoints import Savepoint

if TYPE_CHECKING:
    from engine.spark.upgrade.hand_over import Standing

LOG = logging.getLogger(__name__)
_RECENT = 20
_NOT_UNDONE = "upgrade.not_undone"


def roll_back_if_failed(context: Context, pipeline_id: str) -> None:
    """Undo the upgrade of a pipeline that has failed before it has committed anything, if there is one."""
    with context.database.reading() as connection:
        record = read_record(connection, pipeline_id)
        saved = _to_go_back_to(connection, record)
    if saved is None:
        return
    try:
        plan = plan_way_back(context, record, saved)
        with context.database.writing() as connection:
            current = read_record(connection, pipeline_id)
            if _to_go_back_to(connection, current) != saved:
                return
            pipelines.update(connection, plan.ask(connection, current))
            events.add(connection, _undone(context, record, saved))
    except EngineError as error:
        LOG.error("pipeline %s cannot be rolled back to savepoint %s: %s", record.pipeline.name, saved.id, error)
        _tell_once(context, _not_undone(context, record, saved, error))
        return
    context.changed(pipeline_id)


def plan_way_back(context: Context, record: JobRecord, saved: Savepoint) -> RestorePlan:
    """Plan the return of a pipeline to the state and the query before its current version."""
    with context.database.reading() as connection:
        upgrade = versions.get(connection, record.pipeline.id, record.pipeline.version).upgrade
    # the state of another pipeline is of another history, though nothing was committed in it
    is_of_another = upgrade is not None and upgrade.is_fork
    plan = plan_restore(context, record, saved, with_version=True, allow_replay=is_of_another)
    return _with_own_version(context, plan, upgrade) if upgrade is not None and is_of_another else plan


def reasons_not_undone(connection: Connection, records: Sequence[JobRecord]) -> Mapping[str, str]:
    """Return why each pipeline that has failed in an upgrade could not be rolled back, by its id."""
    failed = [record.status for record in records if record.status.state is State.FAILED]
    messages = events.newest_messages(connection, _NOT_UNDONE, {status.job_id: status.generation for status in failed})
    return {status.pipeline_id: messages[status.job_id] for status in failed if status.job_id in messages}


def resume(context: Context) -> None:
    """Undo the upgrades that failed while no control plane was running."""
    with context.database.reading() as connection:
        failed = [r.pipeline.id for r in read_page(connection, None, None) if r.status.state is State.FAILED]
    for pipeline_id in failed:
        roll_back_if_failed(context, pipeline_id)


def _to_go_back_to(connection: Connection, record: JobRecord) -> Savepoint | None:
    """Return the savepoint from before the upgrade in which a job has failed; None if it has not, or if the pipeline
    was changed in the meantime."""
    pipeline, status = record.pipeline, record.status
    if status.state is not State.FAILED or status.version != pipeline.version or pipeline.restore is not None:
        return None
    if pipeline.stop != "none" or pipeline.restarts_asked > status.restarts_done:
        return None
    upgrade = versions.get(connection, pipeline.id, pipeline.version).upgrade
    if upgrade is None or upgrade.savepoint_id is None:
        return None
    saved = savepoints.find(connection, pipeline.id, upgrade.savepoint_id)
    if saved is None or saved.state != "completed" or saved.epoch is None:
        return None
    epoch = status.progress.epoch
    # epochs of another pipeline's state are counted otherwise, and none was known when that was put in place
    has_committed = epoch is not None and (upgrade.is_fork or epoch > saved.epoch)
    return None if has_committed else saved


def _with_own_version(context: Context, plan: RestorePlan, upgrade: Upgrade) -> RestorePlan:
    """Add the version that the pipeline had before, even if its query equals the one that failed, since that one is
    only for the state of another pipeline."""
    pipeline = plan.record.pipeline
    with context.database.reading() as connection:
        current = versions.get(connection, pipeline.id, pipeline.version)
        origin = versions.get(connection, pipeline.id, upgrade.from_version or 1)
    planned = context.planner.plan(origin.spec.query, origin.spec.udfs)
    version = intend.earlier_version(current, origin, planned, context.clock())
    return replace(plan, version=version, targets=planned.targets)


def _undone(context: Context, record: JobRecord, saved: Savepoint) -> JobEvent:
    status = record.status
    return JobEvent(
        status.job_id,
        context.clock(),
        "warn",
        f"version {record.pipeline.version} failed and is rolled back to savepoint {saved.id}",
        "upgrade.undone",
        "see the failure above; fix the query and deploy it again",
        status.generation,
        who=CONTROL_PLANE,
    )


def _not_undone(context: Context, record: JobRecord, saved: Savepoint, error: EngineError) -> JobEvent:
    status = record.status
    return JobEvent(
        status.job_id,
        context.clock(),
        "error",
        f"version {record.pipeline.version} cannot be rolled back to {saved.id}: {error.code}: {error.message}",
        _NOT_UNDONE,
        "nothing runs, nothing was committed since the upgrade: mend what the reason names or deploy another query",
        status.generation,
        who=CONTROL_PLANE,
    )


def _tell_once(context: Context, event: JobEvent) -> None:
    """Record an event, unless this run has the same one: the rollback is tried at every start of the control plane."""
    with context.database.writing() as connection:
        noted = events.latest(connection, event.job_id, _RECENT)
        if not any(_meaning(other) == _meaning(event) for other in noted):
            events.add(connection, event)


def _meaning(event: JobEvent) -> tuple[str | None, int | None, str]:
    return event.code, event.generation, event.message


LONGEST_SWITCH = timedelta(minutes=15)
"""Longest time to the first epoch with the new state."""
_MINUTES = f"{LONGEST_SWITCH // timedelta(minutes=1)} minutes"


@dataclass(frozen=True, slots=True)
class WaitFor:
    """Nothing to do; the reason, if known."""

    what: str | None = None


@dataclass(frozen=True, slots=True)
class StopIt:
    """Stop the original, and decide at the next look."""

    why: str


@dataclass(frozen=True, slots=True)
class EndIt:
    """End the hand-over: the original runs with the new state, or keeps trying to."""

    told: str | None = None


@dataclass(frozen=True, slots=True)
class GoBack:
    """Restore the original's own saved state."""

    saved: Savepoint
    why: str


SwitchAction: TypeAlias = WaitFor | StopIt | EndIt | GoBack


def follow(row: Reprocessing, origin: JobRecord, now: datetime, because: str) -> SwitchAction:
    """Return the next action of a switch whose original was not stopped for it; `because` is the reason why it does not
    run."""
    pipeline, status = origin.pipeline, origin.status
    is_new = status.version == row.new_version
    if is_new and status.progress.epoch is not None:
        return EndIt()
    if pipeline.stop != "none":
        return WaitFor(f"{pipeline.name} is {status.state}: `arroyo start {pipeline.name}` starts it")
    is_away = bool(because) and status.state not in (State.RUNNING, State.STOPPED)
    failing = f"{pipeline.name} is {status.state}{because}" if is_away else None
    if now - row.since <= LONGEST_SWITCH:
        return WaitFor(failing)
    if pipeline.restore is not None:
        return WaitFor(failing or f"replacing the state of {pipeline.name}")
    if is_new and status.state is State.RUNNING:
        return EndIt(f"{pipeline.name} runs, but found nothing to read in {_MINUTES}")
    last = f"; last status: {failing}" if failing else ""
    return StopIt(f"{pipeline.name} has committed no epoch in {_MINUTES}{last}; stopping it to restore its own state")


def follow_stopped(
    row: Reprocessing, origin: JobRecord, at: Standing | None, saved: Savepoint | None, because: str
) -> EndIt | GoBack:
    """Return the next action of a switch whose original has stopped for it."""
    name, status = origin.pipeline.name, origin.status
    if status.version == row.new_version and status.progress.epoch is not None:
        return EndIt()
    late = f"{name} has committed no epoch in {_MINUTES}{because}"
    if at is None or not at.is_settled:
        return EndIt(f"{late}; it keeps the new state, because its sinks may contain an epoch of it")
    if saved is None or saved.state != "completed":
        known = "its own was not saved"
        if saved is not None and saved.failure_message is not None:
            known = f"its own could not be saved: {saved.failure_message}"
        return EndIt(f"{late}; it keeps the new state, because {known}")
    return GoBack(saved, f"{late}; it returns to its own query and state")
