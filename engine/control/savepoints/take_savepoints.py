"""Take the savepoints that have been requested, on threads of the control plane."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import replace

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from engine.checkpoints import manifest
from engine.control.context import Context
from engine.control.traces.requested_starts import watch
from engine.control.upgrades.auto_rollback import roll_back_if_failed
from engine.delivery.faults import reach
from engine.errors import EngineError, SavepointError
from engine.jobs.actors import JobRecord
from engine.jobs.fault_points import ControlPoint
from engine.store import savepoints
from engine.store.jobs.records import read_record, read_version
from engine.store.pipelines import versions
from engine.store.savepoints import Savepoint

LOG = logging.getLogger(__name__)


_PAUSE = 1.0
"""Seconds before the next attempt after a failed database write."""


def take_due(context: Context, pipeline_id: str) -> list[Future[None]]:
    """Start to take the savepoints of a pipeline that are due: those after a stop once the job is stopped, or once the
    stop was cancelled."""
    with context.database.reading() as connection:
        due = savepoints.due(connection, pipeline_id)
    return _begin(context, due)


def settle_taken(context: Context, pipeline_id: str) -> None:
    """Record the savepoints that drivers have taken already, and wait for it."""
    with context.database.reading() as connection:
        pending = savepoints.pending_before_versions(connection, pipeline_id)
    wait(_begin(context, [savepoint for savepoint in pending if _is_taken(context, savepoint)]))


def _is_taken(context: Context, savepoint: Savepoint) -> bool:
    return (context.directory.savepoint(savepoint.pipeline_id, savepoint.id) / manifest.NAME).exists()


def _work(context: Context, savepoint: Savepoint) -> None:
    """Take a savepoint and record the outcome."""
    try:
        with context.database.reading() as connection:
            record = read_record(connection, savepoint.pipeline_id)
            _refuse_another_state(connection, context, record, savepoint)
            numbers = _numbers_of_states(connection, record, savepoint)
        facts = {"pipeline": record.pipeline.name, "savepoint_id": savepoint.id}
        with watch(context.emit_span, context.clock, "savepoint", **facts) as stopwatch:
            content = context.take(context.directory.state(savepoint.pipeline_id), savepoint, numbers)
            stopwatch.facts |= {"epoch": content.epoch, "bytes": content.bytes}
        settled = replace(
            savepoint,
            state="completed",
            epoch=content.epoch,
            watermark=content.watermark,
            parallelism=content.parallelism,
            bytes=content.bytes,
            version=content.version,
        )
    except EngineError as error:
        settled = replace(savepoint, state="failed", failure_message=error.message)
    except Exception as error:
        LOG.exception("savepoint %s fails with an error of the control plane's own", savepoint.id)
        settled = replace(savepoint, state="failed", failure_message=f"{type(error).__name__}: {error}")
    reach(ControlPoint.AFTER_SAVEPOINT)
    _settle(context, settled)


def _numbers_of_states(connection: Connection, record: JobRecord, savepoint: Savepoint) -> Mapping[str, int]:
    """Return the number of the version of each state, by the fingerprint of the state. The deployment of a version
    checks what it takes over: versions of one plan may store objects that only their own packages can read."""
    if (number := savepoint.before_version) is None:
        return versions.by_fingerprint(connection, savepoint.pipeline_id, record.status.version or 1)
    numbers = versions.by_fingerprint(connection, savepoint.pipeline_id, number - 1)
    upgrade = versions.get(connection, savepoint.pipeline_id, number).upgrade
    if upgrade is None or upgrade.from_plan is None or upgrade.from_version is None:
        return numbers
    return {**numbers, upgrade.from_plan: upgrade.from_version}


def _refuse_another_state(connection: Connection, context: Context, record: JobRecord, savepoint: Savepoint) -> None:
    """Raise if the state is no longer the one before a version. The run of the version has saved that before its first
    change. If it has not got so far, the state is unchanged as long as the job is stopped and nothing newer was
    requested."""
    number = savepoint.before_version
    if number is None or _is_taken(context, savepoint):
        return
    upgrade, restore = (
        read_version(connection, savepoint.pipeline_id, record.pipeline.version).upgrade,
        record.pipeline.restore,
    )
    is_wanted = savepoint.id in (upgrade and upgrade.savepoint_id, restore and restore.save_as)
    if not (is_wanted and record.status.state.is_terminal):
        raise SavepointError(
            f"it was called off: version {number} was replaced before it ran, and the state is not that of before it",
            hint="the version after it has a savepoint of its own",
        )


def _settle(context: Context, settled: Savepoint) -> None:
    """Record the outcome of a savepoint, as soon as the database can be written. Until then its pipeline can neither
    start nor be deleted."""
    try:
        with context.database.writing() as connection:
            savepoints.settle(connection, settled)
    except OperationalError as error:
        LOG.error("savepoint %s is %s, which cannot be written down yet: %s", settled.id, settled.state, error.orig)
        later = threading.Timer(_PAUSE, _settle, (context, settled))
        later.daemon = True
        later.start()
        return
    context.in_hand.pop(settled.id, None)
    # a job that is to start again has waited for it
    context.changed(settled.pipeline_id)
    if settled.before_version is not None:
        roll_back_if_failed(context, settled.pipeline_id)


def resume(context: Context) -> None:
    """Take the savepoints again that a previous control plane has not settled, except those that are waiting."""
    with context.database.reading() as connection:
        due = savepoints.due(connection)
    _begin(context, due)


def _begin(context: Context, due: Sequence[Savepoint]) -> list[Future[None]]:
    """Start each savepoint that is not in progress."""
    fresh = [savepoint for savepoint in due if context.in_hand.setdefault(savepoint.id, savepoint) is savepoint]
    return [context.workers.submit(_work, context, savepoint) for savepoint in fresh]
