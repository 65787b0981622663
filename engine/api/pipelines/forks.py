"""Fork a pipeline: a new pipeline starts from a savepoint of this one.

savepoint sp_1 of pipeline orders, at epoch 41; its fork orders-2

    check       the savepoint's files, the effect on the state, and that targets are not shared
    record      the pipeline, its version, its targets and its savepoint, in one transaction
    afterwards  the savepoint is copied to the state of orders-2, and its first run takes it over

Orders keeps running. After a crash, orders-2 exists completely, or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter, Response
from pydantic import Field
from sqlalchemy import Connection

from engine.api import answers
from engine.api.http.bodies import Body, PlanId, Udf, udf_texts
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
from engine.api.http.problems import ContextDep, refusals, refuse_unless_accepted
from engine.api.pipelines.deployments import Name, Names, Secrets
from engine.api.pipelines.pipelines import show
from engine.changes.verdict import Wording
from engine.control.context import Context
from engine.control.plan_deployment import check_starts, plan_whole, refuse_id, starts_of
from engine.control.stored_objects import refuse_gone, stored_secrets
from engine.control.upgrades.plan_restore import read_checked
from engine.delivery.faults import reach
from engine.errors import PipelineExistsError, SharedForkError
from engine.jobs import disk
from engine.jobs.decisions.spec import Pipeline, PlannedQuery, Restore, ShownUpgrade, Spec, Upgrade
from engine.jobs.decisions.states import State
from engine.jobs.decisions.status import Status
from engine.jobs.fault_points import ControlPoint
from engine.store import savepoints
from engine.store.jobs import jobs
from engine.store.pipelines import pipeline_secrets, pipelines, versions
from engine.store.savepoints import Savepoint

ROUTER = APIRouter(prefix="/savepoints/{savepoint}", tags=["savepoints"], responses=refusals(404))
_WORDING = Wording("reset", "accept_loss", "fork it with a query that keeps the state")


class ForkRequest(Body):
    """The new pipeline. Omitted settings are those of the original."""

    name: Name = Field(description="What the new pipeline is called.")
    query: str = Field(min_length=1, description="The SQL text; what it writes must be elsewhere.")
    udfs: tuple[str | Udf, ...] | None = Field(
        default=None, description="Files of Python functions that the query may use, all of them."
    )
    settings: dict[str, str] | None = Field(default=None, description="The settings of its runs, all of them.")
    secrets: Secrets | None = Field(default=None, description="The secrets that its script names.")
    keep_state: Names = Field(
        default=(), description="Operators whose state stays although the rows before it have changed their meaning."
    )
    reset: Names = Field(default=(), description="Operators and sources that may lose their state or place.")
    hold_back: Names = Field(
        default=(),
        description="Operators with an added aggregate whose open windows are suppressed, instead "
        "of emitted with NULL.",
    )
    accept_loss: PlanId | None = Field(default=None, description="The id of a plan: what it says is lost may be lost.")


@dataclass(frozen=True, slots=True)
class _Fork:
    """A fork with all computed facts."""

    body: ForkRequest
    request: ChangeRequest
    origin: Pipeline
    stored: Savepoint
    parallelism: int
    spec: Spec
    planned: PlannedQuery
    plan: ShownUpgrade
    used: frozenset[str]
    """Ids of the stored objects that it uses."""

    def make(self, connection: Connection, context: Context) -> Pipeline:
        """Return the pipeline, with its version and its job; raise if the name or a target is taken meanwhile."""
        now, name = context.clock(), self.body.name
        origin = pipelines.get(connection, self.origin.id)  # either may have been deleted since
        stored = savepoints.get(connection, origin.id, self.stored.id)
        if pipelines.find(connection, name) is not None:
            raise PipelineExistsError(f"there is a pipeline {name!r} already", hint="fork under another name")
        restore = Restore(stored.id, self.parallelism, allow_replay=True, of_pipeline=self.origin.id)
        pipeline = Pipeline(
            id=disk.make("pl"),
            name=name,
            job_id=disk.make("job"),
            version=1,
            parallelism=self.parallelism,
            created_at=now,
            restore=restore,
            asked_by=self.request.who,
        )
        upgrade = Upgrade(
            self.body.keep_state, self.body.reset, self.plan.id, is_fork=True, hold_back=self.body.hold_back
        )
        version = self.planned.as_version(pipeline.id, 1, self.spec, now, upgrade=upgrade)
        refuse_gone(connection, self.used)
        if not pipelines.add(connection, pipeline):
            raise PipelineExistsError(f"there is a pipeline {name!r} already", hint="fork under another name")
        versions.add(connection, version)
        jobs.add(connection, Status(pipeline.job_id, pipeline.id, State.CREATED, now, now))
        versions.claim(connection, pipeline.id, 1, self.planned.targets)
        self._set_secrets(connection, context, pipeline)
        return pipeline

    def _set_secrets(self, connection: Connection, context: Context, pipeline: Pipeline) -> None:
        """Store the given secrets, or those of the original."""
        vault = context.database.vault
        if self.body.secrets is None:
            values = dict(pipeline_secrets.read(connection, vault, self.origin.id))
        else:
            values = {name: secret.get_secret_value() for name, secret in self.body.secrets.items()}
        values |= stored_secrets(connection, context, self.spec.query)
        if values:
            pipeline_secrets.replace(connection, vault, pipeline.id, values, context.clock())

    def answer(self) -> answers.ForkOrigin:
        """Return the origin of the fork's state in the form of the API."""
        return answers.ForkOrigin(
            pipeline_id=self.origin.id,
            pipeline=self.origin.name,
            savepoint_id=self.stored.id,
            version=self.stored.version,
            epoch=self.stored.epoch,
            plan=answers.upgrade_plan(self.plan),
        )


@ROUTER.post(
    "/fork",
    status_code=201,
    response_model=answers.ForkedPipeline,
    responses={200: {"model": answers.Effects}, **refusals(400, 409)},
)
def fork(
    savepoint: str, body: ForkRequest, request: ChangeRequestDep, context: ContextDep, dry_run: DryRun = False
) -> Response:
    """Create a pipeline from a savepoint of another one, which keeps running. It writes elsewhere, and receives the
    rows after the savepoint. Its query may be any that an upgrade allows."""
    with context.database.reading() as connection:
        if (answer := earlier_answer(connection, context, request)) is not None:
            return again(answer)
    planned = _plan(context, request, savepoint, body)
    if dry_run:
        return rehearse(context, lambda connection: (None, planned.make(connection, context)), planned.plan)
    with context.database.writing() as connection:
        if (answer := earlier_answer(connection, context, request)) is not None:
            return again(answer)
        pipeline = planned.make(connection, context)
        told = f"forked from savepoint {planned.stored.id} of pipeline {planned.origin.name!r}"
        note(connection, context, request, pipeline.job_id, told)
        note_asking_run(connection, context, request, pipeline)
        note(connection, context, request, planned.origin.job_id, f"forked as pipeline {pipeline.name!r}")
        content = answers.ForkedPipeline(**dict(show(connection, pipeline.id, context)), forked_from=planned.answer())
        response = record_answer(connection, context, request, 201, content, pipeline)
    reach(ControlPoint.AFTER_CHANGE)
    context.changed(pipeline.id)
    return response


def _plan(context: Context, request: ChangeRequest, savepoint_id: str, body: ForkRequest) -> _Fork:
    """Validate a fork completely; raise with the reason if it cannot be made."""
    refuse_id(body.name)
    with context.database.reading() as connection:
        stored = savepoints.anywhere(connection, savepoint_id)
        origin = pipelines.get(connection, stored.pipeline_id)
        before = versions.get(connection, origin.id, stored.version or origin.version)
        written = versions.of_version(connection, origin.id, before.number)
    _, parallelism = read_checked(context, stored)
    udfs = before.spec.udfs if body.udfs is None else udf_texts(body.udfs)
    settings = before.spec.settings if body.settings is None else body.settings
    whole, planned = plan_whole(Spec(body.query, udfs, settings, before.spec.checkpoint_interval), context)
    spec = whole.spec
    wish = Upgrade(body.keep_state, body.reset, hold_back=body.hold_back)
    savepoint = context.directory.savepoint(origin.id, stored.id)
    check_starts(context, savepoint, spec, wish)
    found = context.planner.fork(savepoint, spec.query, spec.udfs, wish, starts_of(spec))
    # the targets as they were written down: the options may be read otherwise by now
    shared = found.shared or tuple(f"it writes to {name}" for name in planned.targets if name in written)
    if shared:
        raise SharedForkError(
            f"the fork is not apart from pipeline {origin.name!r}: {'; '.join(dict.fromkeys(shared))}",
            hint="let its tables write elsewhere, and give its sources other consumer groups",
        )
    refuse_unless_accepted(found.upgrade, body.accept_loss, _WORDING)
    return _Fork(body, request, origin, stored, parallelism, spec, planned, found.upgrade, whole.used)
