"""Remove savepoints, on request or by the retention of a pipeline. Each removal is recorded before any file is
removed.

Remove savepoints: each removal is recorded before any file is removed.

    record   sp_1 is `deleting`; it is not listed and cannot be restored
    rename   its directory, atomically
    remove   its files
    record   sp_1 is deleted

A control plane that dies in between continues at its next start. `engine/jobs/schedules/retention.py` chooses
savepoints to remove automatically.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from engine.control.context import Context
from engine.control.savepoints.savepoint_use import use_of
from engine.delivery.durable import sync_directory
from engine.delivery.faults import reach
from engine.errors import PipelineBusyError, SavepointInUseError, SavepointPinnedError
from engine.jobs.actors import CONTROL_PLANE, JobRecord
from engine.jobs.decisions.status import JobEvent
from engine.jobs.fault_points import SavepointPoint
from engine.jobs.schedules.retention import Fate, HeldSavepoint, Retention, decide_fates
from engine.store import savepoints
from engine.store.jobs import events
from engine.store.jobs.records import read_record
from engine.store.savepoints import Savepoint

LOG = logging.getLogger(__name__)


def refuse_needed(context: Context, connection: Connection, record: JobRecord, savepoint: Savepoint) -> None:
    """Refuse to delete a savepoint that is in use, or that is being taken."""
    if savepoint.state == "pending":
        raise PipelineBusyError(f"savepoint {savepoint.id} is being taken", hint="wait until it is complete")
    if savepoint.pinned:
        raise SavepointPinnedError(f"savepoint {savepoint.id} is pinned", hint="unpin it first, if it may go")
    if (use := use_of(context, connection, record, savepoint)) is not None:
        raise SavepointInUseError(f"savepoint {savepoint.id} is in use: {use}", hint="delete it later")


def fates(context: Context, connection: Connection, record: JobRecord, policy: Retention) -> list[Fate]:
    """Return the decision of a retention policy on each savepoint of a pipeline, oldest first."""
    held = [
        HeldSavepoint(
            id=savepoint.id,
            taken_at=savepoint.created_at,
            state=savepoint.state,
            is_pinned=savepoint.pinned,
            in_use=use_of(context, connection, record, savepoint),
            before_version=savepoint.before_version,
            is_damaged=savepoint.damage is not None,
        )
        for savepoint in savepoints.in_order(connection, record.pipeline.id)
    ]
    return decide_fates(held, policy, context.clock())


def finish(context: Context, pipeline_id: str, savepoint_ids: Sequence[str]) -> None:
    """Remove the files of savepoints that are to be deleted. What cannot be removed is left to the next time."""
    for savepoint_id in savepoint_ids:
        try:
            with context.holds.removal:
                _remove(context, pipeline_id, savepoint_id)
        except (OSError, OperationalError) as error:
            LOG.error("savepoint %s is not removed yet, and is tried again: %s", savepoint_id, error)


def finish_all(context: Context) -> None:
    """Continue deletions that were started and not completed, also by a previous control plane."""
    with context.database.reading() as connection:
        pending = savepoints.deleting(connection)
    for pipeline_id, savepoint_id in pending:
        if context.holds.reason(savepoint_id) is not None:
            continue  # it is being imported, and goes only if that is cut short
        finish(context, pipeline_id, [savepoint_id])


def _remove(context: Context, pipeline_id: str, savepoint_id: str) -> None:
    folder = context.directory.savepoint(pipeline_id, savepoint_id)
    aside = folder.with_name(f".{savepoint_id}.deleted")
    reach(SavepointPoint.AFTER_MARK)
    if folder.exists():
        if aside.exists():
            shutil.rmtree(aside)
        folder.rename(aside)
        sync_directory(folder.parent)
    reach(SavepointPoint.AFTER_ASIDE)
    for rest in folder.parent.glob(f".{savepoint_id}.*"):
        shutil.rmtree(rest)
    reach(SavepointPoint.AFTER_FILES)
    with context.database.writing() as connection:
        savepoints.forget(connection, savepoint_id)


def prune(context: Context, pipeline_id: str) -> None:
    """Delete the savepoints that a pipeline's policy, if it has one, does not retain."""
    with context.database.reading() as connection:
        policy = savepoints.retention(connection, pipeline_id)
        if policy is None or not _going(fates(context, connection, read_record(connection, pipeline_id), policy)):
            return
    with context.database.writing() as connection:
        record = read_record(connection, pipeline_id)
        policy = savepoints.retention(connection, pipeline_id)
        decided = [] if policy is None else fates(context, connection, record, policy)
        mark_for_deletion(connection, context, record, decided, CONTROL_PLANE)
    finish(context, pipeline_id, _going(decided))


def _going(decided: list[Fate]) -> list[str]:
    return [fate.id for fate in decided if fate.goes]


def mark_for_deletion(
    connection: Connection, context: Context, record: JobRecord, decided: list[Fate], who: str | None
) -> None:
    """Record which savepoints are to be deleted, and tell the owner of the pipeline why."""
    for fate in decided:
        if fate.goes:
            savepoints.mark_deleting(connection, fate.id)
            told = f"savepoint {fate.id} deleted: {fate.reason}"
            events.add(connection, JobEvent(record.pipeline.job_id, context.clock(), "info", told, who=who))
