"""Delete the savepoints that a pipeline's retention does not keep."""

from __future__ import annotations

from sqlalchemy import Connection

from engine.control.context import Context
from engine.control.savepoints.savepoint_removal import fates, finish
from engine.jobs.actors import CONTROL_PLANE, JobRecord
from engine.jobs.decisions.status import JobEvent
from engine.jobs.schedules.retention import Fate
from engine.store import savepoints
from engine.store.jobs import events
from engine.store.jobs.records import read_record


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
