"""Find the readers of a savepoint, so that it is not deleted meanwhile.

A reader in another process is known from the desired state of its pipeline; one in this process takes a hold. Holds are
taken in a write transaction, like deletions, so they cannot overlap. Holds end with the process, and so do their
readers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from engine.control.context import Context
from engine.errors import SavepointError
from engine.jobs.actors import JobRecord
from engine.store import savepoints
from engine.store.pipelines import pipelines, rehearsals, versions
from engine.store.savepoints import Savepoint


@contextmanager
def holding(context: Context, pipeline_id: str, savepoint_id: str, reason: str) -> Iterator[Savepoint]:
    """Hold a completed savepoint, which is not deleted during the context."""
    with context.database.writing() as connection:
        savepoint = savepoints.get(connection, pipeline_id, savepoint_id)
        if savepoint.state != "completed":
            raise SavepointError(
                f"savepoint {savepoint_id} is {savepoint.state}", hint="only a completed savepoint can be read"
            )
        context.holds.add(savepoint_id, reason)
    try:
        yield savepoint
    finally:
        context.holds.end(savepoint_id, reason)


def use_of(context: Context, connection: Connection, record: JobRecord, savepoint: Savepoint) -> str | None:
    """Return what uses a savepoint, so that it must not be deleted; None if nothing does."""
    pipeline, epoch = record.pipeline, record.status.progress.epoch
    if pipeline.restore is not None and pipeline.restore.savepoint_id == savepoint.id:
        return "the pipeline is going back to it"
    if (fork := pipelines.forking_from(connection, pipeline.id, savepoint.id)) is not None:
        return f"pipeline {fork!r} is to begin with it"
    if rehearsals.reading(connection, savepoint.id):
        return "a rehearsal goes on from it"
    has_committed = epoch is not None and savepoint.epoch is not None and epoch > savepoint.epoch
    if savepoint.before_version is not None and not has_committed:
        upgrade = versions.get(connection, pipeline.id, pipeline.version).upgrade
        if upgrade is not None and upgrade.savepoint_id == savepoint.id:
            return f"version {pipeline.version} has not committed an epoch yet, and goes back to it if it fails"
    return context.holds.reason(savepoint.id)
