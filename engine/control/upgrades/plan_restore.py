"""Validate a restore before anything stops, and describe its effects.

pipeline at version 2, savepoint of version 1
same plan                                               restored; version 2 continues from it
another plan, or objects that other packages read       refused, naming version 1
another plan, with_version                              restored, as version 3 with the query of version 1
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from engine.checkpoints.layout import StatePaths
from engine.checkpoints.lineage_divergence import refuse_gap
from engine.checkpoints.manifest import SavepointManifest, check_files, read_manifest
from engine.checkpoints.restore import refuse_replay
from engine.checkpoints.saved_query import SavedQuery, read_saved_query
from engine.control.context import Context
from engine.errors import OtherVersionError, ReplayError, SavepointError, StaleWriteError
from engine.jobs.actors import JobRecord
from engine.jobs.decisions import intend
from engine.jobs.decisions.spec import Pipeline, PlannedQuery, Restore, Version, is_bound_alike
from engine.store import savepoints
from engine.store.pipelines import versions
from engine.store.savepoints import Savepoint


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """A valid restore. `version` is the resulting version, if it is another one."""

    record: JobRecord
    stored: Savepoint
    restore: Restore
    version: Version | None = None
    targets: tuple[str, ...] = ()
    before: Savepoint | None = None
    """Savepoint that is taken of the current state before that."""

    def ask(self, connection: Connection, record: JobRecord) -> Pipeline:
        """Return the pipeline with the restore as its desired state; raise if it was changed since the restore was
        planned."""
        planned, current = self.record.pipeline, record.pipeline
        if (current.id, current.version) != (planned.id, planned.version):
            raise StaleWriteError(f"pipeline {current.name!r} has changed in between", hint="send the request again")
        savepoints.get(connection, current.id, self.stored.id)  # it may have been deleted since
        if not self.restore.allow_replay:
            _refuse_epochs(record, self.stored)
        changed = intend.ask_restore(current, self.restore)
        if self.before is not None:
            savepoints.add(connection, self.before)
        if self.version is None:
            return changed
        versions.add(connection, self.version)
        versions.claim(connection, record.pipeline.id, self.version.number, self.targets)
        return intend.ask_version(changed, self.version)


def plan_restore(
    context: Context, record: JobRecord, stored: Savepoint, *, with_version: bool, allow_replay: bool
) -> RestorePlan:
    """Validate a restore completely; raise with the reason if it cannot be done."""
    intend.refuse_while_restored(record.pipeline)
    manifest, parallelism = read_checked(context, stored)
    if not allow_replay:
        refuse_replay(StatePaths(context.directory.state(record.pipeline.id)), manifest)
        _refuse_epochs(record, stored)
    restore = Restore(stored.id, parallelism, allow_replay)
    saved = read_saved_query(context.directory.savepoint(stored.pipeline_id, stored.id), manifest)
    with context.database.reading() as connection:
        current = versions.get(connection, record.pipeline.id, record.pipeline.version)
        origin = _origin(connection, manifest, saved, stored, current)
    fits, paths = _fits(context, saved, current, origin), StatePaths(context.directory.state(record.pipeline.id))
    if with_version and origin is not None and origin.spec.digest != current.spec.digest:
        planned = plan_origin(context, manifest, origin)
        refuse_gap(paths, manifest, lambda: planned.takes_back)
        version = intend.earlier_version(current, origin, planned, context.clock())
        return RestorePlan(record, stored, restore, version, planned.targets)
    if not fits:
        raise _other_version(record, stored, current, origin)
    refuse_gap(paths, manifest, lambda: context.planner.plan(current.spec.query, current.spec.udfs).takes_back)
    return RestorePlan(record, stored, restore)


def read_checked(context: Context, stored: Savepoint) -> tuple[SavepointManifest, int]:
    """Read a savepoint whose files all exist, and its parallelism."""
    if stored.state != "completed" or stored.parallelism is None:
        raise SavepointError(
            f"savepoint {stored.id} is {stored.state}", hint="only a completed savepoint can be restored"
        )
    folder = context.directory.savepoint(stored.pipeline_id, stored.id)
    manifest = read_manifest(folder)
    check_files(folder, manifest)
    return manifest, stored.parallelism


def _refuse_epochs(record: JobRecord, stored: Savepoint) -> None:
    """Refuse a restore over epochs that sinks cannot rewind, including those that a job still commits before it has
    stopped."""
    name, reached = record.pipeline.name, record.status.progress.epoch
    hint = "allow_replay accepts that sinks which cannot go back get some output twice"
    if reached is not None and stored.epoch is not None and reached > stored.epoch:
        raise ReplayError(
            f"pipeline {name!r} is at epoch {reached}, and the savepoint is of epoch {stored.epoch}",
            hint=hint,
            allowed_by="allow_replay",
        )
    if not record.status.state.is_terminal:
        raise ReplayError(
            f"pipeline {name!r} is {record.status.state}, and commits epochs until it has stopped",
            hint=f"stop it first, or: {hint}",
            allowed_by="allow_replay",
        )


def _origin(
    connection: Connection, manifest: SavepointManifest, saved: SavedQuery, stored: Savepoint, current: Version
) -> Version | None:
    """Return the version that a savepoint belongs to; if that is not recorded, it is inferred from the state."""
    number = stored.version or manifest.origin.version
    if number is None:
        number = versions.of_saved(connection, current.pipeline_id, current.number, saved)
    return None if number is None else versions.get(connection, current.pipeline_id, number)


def _fits(context: Context, saved: SavedQuery, current: Version, origin: Version | None) -> bool:
    """Whether the query of a version continues from the state. It is planned again if its fingerprint differs, since
    another version of the engine may have recorded that."""
    if saved.fingerprint == current.fingerprint and not is_bound_alike(saved, current):
        return False
    if saved.fingerprint in ("", current.fingerprint):
        return origin is None or origin.fingerprint != current.fingerprint or is_bound_alike(origin, current)
    return context.planner.plan(current.spec.query, current.spec.udfs).fingerprint == saved.fingerprint


def plan_origin(context: Context, manifest: SavepointManifest, origin: Version) -> PlannedQuery:
    """Return the plan of the version that a savepoint restores; raise if it does not continue from that state."""
    planned = context.planner.plan(origin.spec.query, origin.spec.udfs)
    if manifest.fingerprint not in ("", planned.fingerprint):
        raise OtherVersionError(
            f"savepoint {manifest.id} belongs to version {origin.number}, whose query has another plan in this version "
            "of the engine",
            hint="restore it with the version of the engine that has taken it",
        )
    return planned


def _other_version(record: JobRecord, stored: Savepoint, current: Version, origin: Version | None) -> OtherVersionError:
    name = record.pipeline.name
    if origin is None:
        return OtherVersionError(
            f"savepoint {stored.id} belongs to a query that pipeline {name!r} has not had, "
            "or to other code or packages of functions whose objects it keeps",
            hint="deploy that query with its functions first, or restore another savepoint",
        )
    return OtherVersionError(
        f"savepoint {stored.id} belongs to version {origin.number} of pipeline {name!r}, which is now version "
        f"{current.number}, another query",
        hint=f"with_version brings the query of version {origin.number} back with it",
        allowed_by="with_version",
    )
