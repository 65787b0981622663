"""Delete pipelines with their state and logs, and previews without viewers."""

from __future__ import annotations

import logging
import shutil
import threading
from datetime import timedelta

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from engine.checkpoints.layout import StatePaths
from engine.checkpoints.state_moves import delete_prefixes
from engine.checkpoints.state_pointer import begun_prefixes
from engine.control.context import Context
from engine.delivery.faults import reach
from engine.errors import EngineError, PipelineBusyError, SavepointsKeptError
from engine.jobs.actors import CONTROL_PLANE, JobRecord
from engine.jobs.decisions import intend
from engine.jobs.decisions.spec import StopRequest
from engine.jobs.decisions.states import State
from engine.jobs.fault_points import ControlPoint
from engine.jobs.processes import processes
from engine.jobs.processes.left_by_drivers import is_at_work
from engine.store import savepoints
from engine.store.jobs.records import read_record
from engine.store.pipelines import deletions, moves, pipelines, previews, reprocessings

LEASE = timedelta(seconds=60)
"""Lifetime of a preview without viewers."""
LOG = logging.getLogger(__name__)
_PAUSE = 1.0
"""Seconds before the next attempt if a process still uses the pipeline's state."""
_LONGEST_START = timedelta(minutes=10)
"""Longest start of a run before the preview is abandoned."""


def end_preview(context: Context, pipeline_id: str) -> None:
    """Stop a preview without viewers, or delete it once it is stopped. One that is still starting gets a minute
    more."""
    with context.database.writing() as connection:
        record = read_record(connection, pipeline_id)
        now = context.clock()
        is_coming = record.status.state in (State.CREATED, State.SCHEDULING) and record.pipeline.stop == "none"
        if is_coming and now < record.pipeline.created_at + _LONGEST_START:
            previews.prolong(connection, pipeline_id, now + LEASE)
            return
        if not record.status.state.is_terminal and record.pipeline.stop != "immediate":
            by = StopRequest(CONTROL_PLANE, now)
            pipelines.update(connection, intend.ask_stop(record.pipeline, record.status, "immediate", by))
    if record.status.state.is_terminal:
        delete_for_good(context, pipeline_id, CONTROL_PLANE)
    else:
        context.changed(pipeline_id)


def delete_for_good(context: Context, pipeline_id: str, who: str) -> None:
    """Delete a pipeline, like a request; raise if it is not stopped."""
    with context.database.writing() as connection:
        record = read_record(connection, pipeline_id)
        refuse_deletion(connection, record, with_savepoints=False)
        mark_deleted(connection, context, record)
    carry_out(context, record, who)


def mark_deleted(connection: Connection, context: Context, record: JobRecord) -> None:
    """Remove a pipeline from the database, and record that its directories are still to be removed."""
    pipelines.remove(connection, record.pipeline)
    deletions.add(connection, record.pipeline.id, context.clock())


def carry_out(context: Context, record: JobRecord, who: str) -> None:
    """Remove the remains of a deleted pipeline."""
    LOG.info("pipeline %s (%s) was deleted by %s", record.pipeline.name, record.pipeline.id, who)
    context.last_reports.forget(record.pipeline.job_id)
    context.requested_starts.forget(record.pipeline.job_id)
    reach(ControlPoint.AFTER_CHANGE)
    context.changes.notify(record.pipeline.id)  # before its files are removed, which takes long in a bucket
    finish(context, record.pipeline.id)


def finish(context: Context, pipeline_id: str) -> None:
    """Remove the directories of a deleted pipeline, once no process works on its state: work that a previous control
    plane has started would create them again. What cannot be removed is left to the next start."""
    if is_at_work(context.directory.driver_lock(pipeline_id)):
        # the result of a restore or a rescale is not needed, and one that hangs never ends
        processes.kill(processes.marked(processes.maintenance_mark(pipeline_id)))
        later = threading.Timer(_PAUSE, finish, (context, pipeline_id))
        later.daemon = True
        later.start()
        return
    _delete_objects(StatePaths(context.directory.state(pipeline_id)))
    try:
        for directory in (context.directory.state(pipeline_id), context.directory.runs(pipeline_id)):
            if directory.exists():
                shutil.rmtree(directory)
            reach(ControlPoint.WHILE_REMOVING)
    except OSError:
        LOG.exception("the directories of pipeline %s are not removed yet; the next start tries again", pipeline_id)
        return
    reach(ControlPoint.AFTER_REMOVAL)
    try:
        with context.database.writing() as connection:
            deletions.settle(connection, pipeline_id)
    except OperationalError as error:
        # it is hidden already; the next start finds nothing to remove
        LOG.error("pipeline %s is deleted, which cannot be written down: %s", pipeline_id, error.orig)


def _delete_objects(paths: StatePaths) -> None:
    """Delete the objects of a state in a bucket. A failure is logged, and does not prevent the deletion of the
    pipeline."""
    try:
        delete_prefixes(paths)
    except EngineError as error:
        LOG.error("the state in %s is not deleted: %s", ", ".join(begun_prefixes(paths)), error)


def resume(context: Context) -> None:
    """Continue the deletions that a previous control plane has not completed."""
    with context.database.reading() as connection:
        pending = deletions.pending(connection)
    for pipeline_id in pending:
        context.workers.submit(finish, context, pipeline_id)


def refuse_deletion(connection: Connection, record: JobRecord, *, with_savepoints: bool) -> None:
    """Refuse to delete a pipeline that runs, has savepoints that must stay, or that something else depends on."""
    name = record.pipeline.name
    if not record.status.state.is_terminal:
        raise PipelineBusyError(f"pipeline {name!r} is {record.status.state}", hint="stop it first")
    states = savepoints.states(connection, record.pipeline.id)
    if "pending" in states:
        raise PipelineBusyError(f"a savepoint of pipeline {name!r} is being taken", hint="wait until it is complete")
    if (move := moves.find(connection, record.pipeline.id)) is not None and move.step != "over":
        moves.refuse_changes(connection, record.pipeline.id)
    reprocessings.refuse_changes(connection, record.pipeline.id, also_later=True)
    if (fork := pipelines.forking_from(connection, record.pipeline.id)) is not None:
        raise PipelineBusyError(
            f"pipeline {fork!r} is to begin with a savepoint of pipeline {name!r}", hint="wait until it runs"
        )
    if (count := states.count("completed")) and not with_savepoints:
        raise SavepointsKeptError(
            f"pipeline {name!r} has {count} savepoint{'s' if count > 1 else ''}, which would be deleted, too",
            hint="say that they may go: with_savepoints=true, or --with-savepoints",
            allowed_by="with_savepoints",
        )
