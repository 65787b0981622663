"""Roll a pipeline back to an earlier version and the last state of that version.

version 2 has taken over the state of version 1, saved as "before version 2"; a rollback makes

    version 3    the query of version 1, on the state of "before version 2"
                 the state of version 2 is first saved as "before version 3": so a rollback can be rolled back

Everything is checked before anything stops, and the response names the append-only sinks, which keep their output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fastapi import APIRouter, Response
from pydantic import Field
from sqlalchemy import Connection

from engine.api import answers
from engine.api.http.bodies import Body
from engine.api.http.change_request import (
    ChangeRequest,
    ChangeRequestDep,
    DryRun,
    again,
    earlier_answer,
    note,
    note_asking_run,
    record_answer,
    rehearse,
)
from engine.api.http.problems import ContextDep, refusals
from engine.api.pipelines.pipelines import show
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.lineage import Lineage, read_lineage
from engine.checkpoints.lineage_divergence import is_behind, written_history
from engine.checkpoints.manifest import SavepointManifest, read_manifest
from engine.control.context import Context
from engine.control.plan_deployment import starts_of
from engine.control.preview_room import refuse_preview_again
from engine.control.savepoints.take_savepoints import settle_taken, take_due
from engine.control.upgrades.plan_restore import RestorePlan, plan_origin, read_checked
from engine.delivery.faults import reach
from engine.errors import PipelineBusyError, SavepointError, StaleWriteError, UnreadableStateError
from engine.jobs import disk
from engine.jobs.actors import JobRecord
from engine.jobs.decisions import intend
from engine.jobs.decisions.rollback import SavedState, SinkAhead, WayBack, sinks_ahead, way_back
from engine.jobs.decisions.spec import Pipeline, PlannedQuery, Restore, Upgrade, Version
from engine.jobs.fault_points import ControlPoint
from engine.store import savepoints
from engine.store.jobs import checkpoints
from engine.store.jobs.records import read_record
from engine.store.pipelines import pipelines, versions
from engine.store.savepoints import Savepoint

ROUTER = APIRouter(prefix="/pipelines/{pipeline}", tags=["pipelines"], responses=refusals(404))


class RollbackRequest(Body):
    """Version to roll back to."""

    to: int | None = Field(default=None, ge=1, description="The version; the one that ran before by default.")


@dataclass(frozen=True, slots=True)
class _Rollback:
    """A valid rollback. Without a restore the state stays, since both versions have the same plan."""

    way: WayBack
    planned: Pipeline
    version: Version | None
    targets: tuple[str, ...] = ()
    restore: RestorePlan | None = None
    epoch: int | None = None
    ahead: tuple[SinkAhead, ...] = ()

    def ask(self, connection: Connection, record: JobRecord) -> Pipeline:
        """Return the pipeline with the rollback as its desired state; raise if it was changed since the rollback was
        planned."""
        current = record.pipeline
        if (current.id, current.version) != (self.planned.id, self.planned.version):
            raise StaleWriteError(f"pipeline {current.name!r} has changed in between", hint="send the request again")
        if self.restore is not None:
            return self.restore.ask(connection, record)
        if self.version is None:
            return current
        versions.add(connection, self.version)
        versions.claim(connection, current.id, self.version.number, self.targets)
        return intend.ask_version(current, self.version)

    def answer(self) -> answers.Rollback:
        """Return the target of the rollback in the form of the API."""
        ahead = [
            answers.SinkAhead(table=sink.table, connector=sink.connector, epochs=sink.epochs, rows=sink.rows)
            for sink in self.ahead
        ]
        return answers.Rollback(
            version=self.way.version,
            savepoint_id=self.way.savepoint_id,
            redone=self.way.is_redone,
            epoch=self.epoch,
            ahead=ahead,
        )


@ROUTER.post(
    "/rollback",
    status_code=202,
    response_model=answers.RolledBackPipeline,
    responses={200: {"model": answers.Effects}, **refusals(400, 409, 412)},
)
def rollback(
    pipeline: str,
    request: ChangeRequestDep,
    context: ContextDep,
    body: RollbackRequest | None = None,
    dry_run: DryRun = False,
) -> Response:
    """Roll back to an earlier version and its state; a running job stops first. The present state is saved before, so
    that a rollback can be rolled back. Does nothing if the pipeline already has that version's query."""
    with context.database.reading() as connection:
        if (answer := earlier_answer(connection, context, request)) is not None:
            return again(answer)
        record = read_record(connection, pipeline)
        request.check(record.pipeline)
    settle_taken(context, record.pipeline.id)
    plan = _plan(context, request, record, None if body is None else body.to)
    if dry_run:
        return rehearse(context, lambda connection: _rehearsed(connection, pipeline, plan), rollback=plan.answer())
    return _store(context, request, pipeline, plan)


def _plan(context: Context, request: ChangeRequest, record: JobRecord, to: int | None) -> _Rollback:
    """Validate a rollback completely; raise with the reason if it cannot be done."""
    pipeline, now = record.pipeline, context.clock()
    with context.database.reading() as connection:
        _refuse_unfinished(connection, pipeline)
        plans = versions.all_plans(connection, pipeline.id, pipeline.version)
        saved = savepoints.before_versions(connection, pipeline.id)
        upgraded = versions.upgraded(connection, pipeline.id)
        way = way_back(pipeline.version, to, plans, _placed(context, pipeline.id, saved), upgraded)
        current = versions.get(connection, pipeline.id, pipeline.version)
        origin = versions.get(connection, pipeline.id, way.version)
        stored = None if way.savepoint_id is None else savepoints.get(connection, pipeline.id, way.savepoint_id)
    if stored is None:
        planned = context.planner.plan(origin.spec.query, origin.spec.udfs)
        if intend.means_the_same(current, origin.spec, planned):
            return _Rollback(way, pipeline, None)
        version = intend.next_version(current, origin.spec, planned, now, force=False, has_state=True)
        return _Rollback(way, pipeline, version, planned.targets)
    manifest, parallelism = read_checked(context, stored)
    planned = _planned(context, manifest, origin, way)
    version = intend.earlier_version(current, origin, planned, now)
    if way.is_redone:
        state, saved_at = context.directory.state(pipeline.id), Lineage(manifest.lineage, manifest.parents)
        context.planner.check_sinks(state, origin.spec.query, origin.spec.udfs, (saved_at, manifest.epoch))
        savepoint, wish = context.directory.savepoint(pipeline.id, stored.id), origin.upgrade or Upgrade()
        context.planner.check_redone(savepoint, origin.spec.query, origin.spec.udfs, starts_of(origin.spec), wish)
    if way.is_redone and origin.upgrade is not None:
        version = replace(
            version, upgrade=replace(origin.upgrade, savepoint_id=None, from_version=None, from_plan=None)
        )
    before = Savepoint(
        disk.make("sp"),
        pipeline.id,
        f"before version {version.number}",
        now,
        creator=request.caller,
        reason=f"rollback to version {origin.number}",
        before_version=version.number,
    )
    restore = Restore(stored.id, parallelism, allow_replay=True, save_as=before.id)
    plan = RestorePlan(record, stored, restore, version, planned.targets, before)
    ahead = _ahead(context, record, manifest, context.planner.plan(current.spec.query, current.spec.udfs))
    return _Rollback(way, pipeline, version, planned.targets, plan, stored.epoch, ahead)


def _refuse_unfinished(connection: Connection, pipeline: Pipeline) -> None:
    """Refuse a rollback while the newest version has not replaced the one before it: that one's state is not saved yet,
    and the rollback would use an older one."""
    intend.refuse_while_restored(pipeline)
    pending = savepoints.pending_before_versions(connection, pipeline.id)
    if any(savepoint.before_version == pipeline.version for savepoint in pending):
        raise PipelineBusyError(
            f"version {pipeline.version} of pipeline {pipeline.name!r} is still taking the place of the one before it",
            hint="send the request again in a moment",
        )


def _planned(context: Context, manifest: SavepointManifest, origin: Version, way: WayBack) -> PlannedQuery:
    if way.is_redone:
        return context.planner.plan(origin.spec.query, origin.spec.udfs)
    return plan_origin(context, manifest, origin)


def _placed(context: Context, pipeline_id: str, saved: Sequence[SavedState]) -> list[SavedState]:
    """Add whether each state is older than the current one. If the current state cannot be read, all count as older."""
    try:
        history = written_history(StatePaths(context.directory.state(pipeline_id)))
    except UnreadableStateError:
        return list(saved)
    return [replace(state, is_behind=_is_behind(context, pipeline_id, state, history)) for state in saved]


def _is_behind(context: Context, pipeline_id: str, state: SavedState, history: Lineage) -> bool:
    try:
        manifest = read_manifest(context.directory.savepoint(pipeline_id, state.savepoint_id))
    except SavepointError:
        return True  # it is refused by name, if it is the one
    return is_behind(manifest, history)


def _ahead(
    context: Context, record: JobRecord, manifest: SavepointManifest, current: PlannedQuery
) -> tuple[SinkAhead, ...]:
    """Return the sinks that cannot rewind with the state, and how far they are ahead of it by now."""
    paths = StatePaths(context.directory.state(record.pipeline.id))
    try:
        last = read_lineage(paths.lineage).left_at(Lineage(manifest.lineage, manifest.parents), manifest.epoch)
    except UnreadableStateError:
        last = None
    with context.database.reading() as connection:
        rows = checkpoints.rows_written(connection, record.status.job_id)
    return tuple(sinks_ahead(current.lasting, last, record.status.progress.epoch, rows))


def _rehearsed(connection: Connection, pipeline: str, plan: _Rollback) -> tuple[JobRecord, Pipeline]:
    record = read_record(connection, pipeline)
    changed = plan.ask(connection, record)
    return record, changed if changed == record.pipeline else pipelines.update(connection, changed)


def _store(context: Context, request: ChangeRequest, pipeline: str, plan: _Rollback) -> Response:
    """Store a rollback, unless the same request was answered meanwhile, and start to carry it out."""
    with context.database.writing() as connection:
        if (answer := earlier_answer(connection, context, request)) is not None:
            return again(answer)
        record = read_record(connection, pipeline)
        request.check(record.pipeline)
        changed = plan.ask(connection, record)
        if changed != record.pipeline:
            refuse_preview_again(connection, record, changed, context)
            changed = pipelines.update(connection, replace(changed, asked_by=request.who))
            note(connection, context, request, changed.job_id, _told(plan, record.pipeline, changed))
            note_asking_run(connection, context, request, changed)
        shown = show(connection, changed.id, context)
        content = answers.RolledBackPipeline(**dict(shown), rollback=plan.answer())
        response = record_answer(connection, context, request, 202, content, changed)
    reach(ControlPoint.AFTER_CHANGE)
    context.changed(changed.id)
    take_due(context, changed.id)  # of a job at rest, which goes back when its state is saved
    return response


def _told(plan: _Rollback, before: Pipeline, after: Pipeline) -> str:
    """Describe the rollback for the owner of the job."""
    ahead = "".join(f"; {sink}" for sink in plan.ahead)
    return f"rolled back to version {plan.way.version}: {intend.describe_change(before, after)}{ahead}"
