"""Deploy a pipeline: create it, or update the existing one of the name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Response
from pydantic import AfterValidator, Field, SecretStr
from sqlalchemy import Connection

from engine.api import answers
from engine.api.http.bodies import Body, PlanId, Tags, Udf, udf_texts
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
from engine.api.pipelines.lineage import with_expectations
from engine.api.pipelines.pipelines import Interval, Parallelism, show
from engine.changes.verdict import Wording
from engine.checkpoints.layout import StatePaths
from engine.control.context import Context
from engine.control.plan_deployment import check_starts, plan_whole, refuse_id, starts_of
from engine.control.preview_room import refuse_further_preview, refuse_preview_again
from engine.control.savepoints.take_savepoints import take_due
from engine.control.stored_objects import refuse_gone, stored_secrets
from engine.control.traces.requested_starts import SpanId, asks_for_start, watch
from engine.delivery.faults import reach
from engine.errors import PipelineExistsError, StaleWriteError
from engine.inspection.retry_reads import history_of
from engine.jobs import disk
from engine.jobs.actors import JobRecord
from engine.jobs.address import LONGEST_NAME, NAME
from engine.jobs.decisions import intend
from engine.jobs.decisions.spec import (
    Pipeline,
    PlannedQuery,
    ShownUpgrade,
    Spec,
    StopRequest,
    Upgrade,
    Version,
    is_bound_alike,
)
from engine.jobs.decisions.states import State, StopMode
from engine.jobs.decisions.status import JobEvent, Status
from engine.jobs.fault_points import ControlPoint
from engine.store import savepoints
from engine.store.jobs import events, jobs
from engine.store.jobs.records import read_record, read_version
from engine.store.pipelines import pipeline_secrets, pipelines, previews, versions
from engine.store.savepoints import Savepoint
from engine.values import secret_references
from engine.values.run_settings import RUN_SETTINGS

ROUTER = APIRouter(prefix="/pipelines", tags=["pipelines"])
_WORDING = Wording("reset", "accept_loss", "deploy it under another name, or with force, which gives up all state")

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, pattern=rf"^{NAME}$")]


def _without_null(secret: SecretStr) -> SecretStr:
    """Return the secret; raise ValueError for a null character, which an environment cannot hold."""
    if "\0" in secret.get_secret_value():
        raise ValueError("a secret has no null character")
    return secret


SecretName = Annotated[str, Field(max_length=128, pattern=rf"^{secret_references.NAME}$")]
SecretValue = Annotated[SecretStr, Field(max_length=16_384), AfterValidator(_without_null)]
Names = Annotated[tuple[Annotated[str, Field(max_length=256)], ...], Field(max_length=256)]
Secrets = Annotated[dict[SecretName, SecretValue], Field(max_length=32)]


class Deployment(Body):
    """Desired settings of a pipeline. Omitted ones are unchanged, or have their defaults in a new pipeline."""

    query: str = Field(min_length=1, description="The SQL text.")
    parallelism: Parallelism | None = Field(
        default=None, description="How many tasks run in parallel; 1 when a new pipeline leaves it out."
    )
    checkpoint_interval_micros: Interval | None = Field(
        default=None,
        description="The least time from one epoch to the next; with null, epochs follow each other at once.",
    )
    udfs: tuple[str | Udf, ...] | None = Field(
        default=None, description="Files of Python functions that the query may use, all of them."
    )
    settings: dict[str, str] | None = Field(
        default=None,
        description=f"The settings of its runs, all of them: {', '.join(RUN_SETTINGS)}; and those of Spark that are "
        "allowed, by their own names.",
    )
    secrets: Secrets | None = Field(
        default=None,
        description="The secrets that its script names: kept encrypted, given to its drivers when they start, never "
        "shown. Left out, they stay as they are; another value alone restarts nothing.",
    )
    stop: StopMode = Field(default="none", description="How its job is to stop; `none` lets it run.")
    tags: Tags | None = Field(
        default=None, description="Its labels, all of them. They group pipelines in lists; no run depends on them."
    )
    idempotency_key: str | None = Field(
        default=None, max_length=256, description="Makes a deployment that is sent twice happen once."
    )
    force: bool = Field(default=False, description="Whether to give up the state that another query has left.")
    upgrade: Literal["auto", "never"] = Field(
        default="auto",
        description="Whether the state that another query has left is taken over, as `POST .../plan` says; with "
        "`never` another query is refused.",
    )
    keep_state: Names = Field(
        default=(),
        description="Operators whose state stays although the rows before it have changed their meaning.",
    )
    reset: Names = Field(default=(), description="Operators, sources and sinks that may lose their state or place.")
    hold_back: Names = Field(
        default=(),
        description="Operators with an added aggregate whose open windows are suppressed, instead "
        "of emitted with NULL.",
    )
    accept_loss: PlanId | None = Field(default=None, description="The id of a plan: what it says is lost may be lost.")

    def to_spec(self, before: Spec) -> Spec:
        """Return the fields that make a version, over those of the previous one."""
        spec = replace(before, query=self.query)
        if self.udfs is not None:
            spec = replace(spec, udfs=udf_texts(self.udfs))
        if self.settings is not None:
            spec = replace(spec, settings=self.settings)
        if "checkpoint_interval_micros" in self.model_fields_set:
            micros = self.checkpoint_interval_micros
            spec = replace(spec, checkpoint_interval=None if micros is None else timedelta(microseconds=micros))
        return spec


@ROUTER.put(
    "/by-name/{name}",
    response_model=answers.DeployedPipeline | answers.Effects,
    responses={201: {"model": answers.DeployedPipeline}, **refusals(400, 409, 412)},
)
def deploy(
    name: Name,
    body: Deployment,
    request: ChangeRequestDep,
    context: ContextDep,
    dry_run: DryRun = False,
) -> Response:
    """Create or update the pipeline of this name. Fields that the body omits are unchanged. Idempotent. A query that
    differs only in comments or layout makes no new version and restarts nothing."""
    return apply_deployment(name, body, request, context, dry_run=dry_run)


def apply_deployment(
    name: str,
    body: Deployment,
    request: ChangeRequest,
    context: Context,
    *,
    dry_run: bool = False,
    must_be_new: bool = False,
    preview_until: datetime | None = None,
) -> Response:
    """Carry out a deployment. One that `must_be_new` is refused if the name is taken, and answers clients that expect a
    single status with 200. One with `preview_until` is a preview, with a lease until then."""
    with watch(context.emit_span, context.clock, "deploy", pipeline=name, dry_run=dry_run) as stopwatch:
        with context.database.reading() as connection:
            if (answer := earlier_answer(connection, context, request)) is not None:
                return again(answer)
            if must_be_new:
                _refuse_taken(connection, name)
            spec = body.to_spec(_spec_before(connection, name))
        with stopwatch.step("plan"):
            intended = replace(
                _plan(name, body, spec, request, context),
                must_be_new=must_be_new,
                preview_until=preview_until,
            )
        if dry_run:
            remarks: list[str] = []
            return rehearse(
                context,
                lambda connection: _rehearsed(connection, name, intended, context, remarks),
                intended.upgrade,
                remarks=remarks,
            )
        with stopwatch.step("store"):
            return _store(name, intended, context, stopwatch.id)


def _store(name: str, intended: _Deployment, context: Context, span: SpanId) -> Response:
    """Store a deployment, unless the same request was answered meanwhile, and start to carry it out."""
    request = intended.request
    with context.database.writing() as connection:
        if (answer := earlier_answer(connection, context, request)) is not None:
            return again(answer)
        earlier, pipeline = _make(connection, name, intended, context)
        if pipeline != earlier:
            note(connection, context, request, pipeline.job_id, intend.describe_change(earlier, pipeline))
            note_asking_run(connection, context, request, pipeline)
            if earlier is not None and earlier.version != pipeline.version:
                _note_accepted_loss(connection, context, pipeline, intended)
        shown = show(connection, pipeline.id, context)
        is_unchanged = earlier is not None and earlier.version == pipeline.version
        remarks = _without_effect(connection, intended.body, earlier, pipeline)
        content = answers.DeployedPipeline(**dict(shown), unchanged=is_unchanged, remarks=remarks)
        status = 201 if earlier is None and not intended.must_be_new else 200
        response = record_answer(connection, context, request, status, content, pipeline)
        if context.emit_span is not None and asks_for_start(earlier, pipeline):
            # before anybody else can read what is asked for, and start it
            context.requested_starts.ask(pipeline.job_id, context.clock(), span)
    reach(ControlPoint.AFTER_CHANGE)
    context.changed(pipeline.id)
    take_due(context, pipeline.id)  # of a job at rest, which starts when its state is saved
    return response


def _note_accepted_loss(connection: Connection, context: Context, pipeline: Pipeline, intended: _Deployment) -> None:
    """Store an event if a part of the state is lost, which was accepted by the id of its plan."""
    shown = intended.upgrade
    if shown is None or shown.loses_nothing:
        return
    words = f"version {pipeline.version} loses something of the state, as plan {shown.id} says"
    event = JobEvent(
        pipeline.job_id, context.clock(), "warn", words, "state.loss_accepted", shown.text, who=intended.request.who
    )
    events.add(connection, event)


@dataclass(frozen=True, slots=True)
class _Deployment:
    """A deployment with all computed facts."""

    body: Deployment
    said: Spec
    """The request body."""
    spec: Spec
    """The spec with all stored objects that it uses."""
    planned: PlannedQuery
    request: ChangeRequest
    upgrade: ShownUpgrade | None = None
    """Effect on the existing state; None if there is none, or it is discarded."""
    history: str | None = None
    """Lineage of the state for which that was computed."""
    must_be_new: bool = False
    """Whether the name must be free."""
    preview_until: datetime | None = None
    """Expiry of a preview; None otherwise."""
    used: frozenset[str] = frozenset()
    """Ids of the stored objects that it uses."""


def _refuse_taken(connection: Connection, name: str) -> None:
    if pipelines.find(connection, name) is not None:
        raise PipelineExistsError(
            f"there is a pipeline {name!r} already", hint="take another name, or deploy it with PUT .../by-name"
        )


def _spec_before(connection: Connection, name: str) -> Spec:
    """Return the current version of the pipeline of that name; the defaults if there is none."""
    pipeline = pipelines.find(connection, name)
    return Spec("") if pipeline is None else versions.get(connection, pipeline.id, pipeline.version).spec


def _plan(name: str, body: Deployment, said: Spec, request: ChangeRequest, context: Context) -> _Deployment:
    """Return the deployment with the effect on the existing state, if that matters. The comparison takes a while, so
    first check whether the state stays anyway."""
    whole, planned = plan_whole(said, context)
    spec = whole.spec
    deployment = _Deployment(body, said, spec, planned, request, used=whole.used)
    with context.database.reading() as connection:
        pipeline = pipelines.find(connection, name)
        current = None if pipeline is None else versions.get(connection, pipeline.id, pipeline.version)
    if pipeline is None or current is None:
        check_starts(context, None, spec)
        return deployment
    _refuse_another_state(pipeline, current, deployment)
    if pipeline.restore is not None:
        return deployment
    state, wish = context.directory.state(pipeline.id), Upgrade(body.keep_state, body.reset, hold_back=body.hold_back)
    is_given_up = body.force and not is_bound_alike(current, planned)
    check_starts(context, None if is_given_up else state, spec, wish)
    if body.force or body.upgrade == "never":
        return deployment
    history = history_of(StatePaths(state))
    shown = context.planner.upgrade(state, spec.query, spec.udfs, wish, starts_of(spec))
    if shown is not None:
        is_other = not is_bound_alike(current, planned)
        with context.database.reading() as connection:
            shown = with_expectations(connection, pipeline.id, shown, is_other_query=is_other)
    return replace(deployment, upgrade=shown, history=history)


def _refuse_another_state(pipeline: Pipeline, current: Version, deployment: _Deployment) -> None:
    """Refuse another query while the state that it would take over, or discard, is still to be restored."""
    if not is_bound_alike(current, deployment.planned):
        intend.refuse_while_restored(pipeline)


def _keeps_other_objects(deployment: _Deployment) -> bool:
    """Whether the state does not belong to the query, although both have the same meaning."""
    return deployment.upgrade is not None and deployment.upgrade.keeps_other_objects


def _allowed_upgrade(deployment: _Deployment) -> Upgrade | None:
    """Return how the existing state is taken over; refuse a loss that was not accepted."""
    shown, body = deployment.upgrade, deployment.body
    if shown is None:
        return None
    refuse_unless_accepted(shown, body.accept_loss, _WORDING)
    return Upgrade(body.keep_state, body.reset, shown.id, repeated=shown.repeated, hold_back=body.hold_back)


def _make(
    connection: Connection, name: str, deployment: _Deployment, context: Context
) -> tuple[Pipeline | None, Pipeline]:
    """Return the pipeline that had the name, and the one that the deployment creates."""
    earlier = pipelines.find(connection, name)
    deployment.request.check(earlier)
    if deployment.must_be_new:
        _refuse_taken(connection, name)
    refuse_gone(connection, deployment.used)
    if deployment.body.to_spec(_spec_before(connection, name)) != deployment.said:
        raise StaleWriteError(f"pipeline {name!r} has changed in between", hint="send the request again")
    if earlier is None:
        return None, _create(connection, name, deployment, context)
    return earlier, _redeploy(connection, earlier, deployment, context)


def _rehearsed(
    connection: Connection, name: str, deployment: _Deployment, context: Context, remarks: list[str]
) -> tuple[JobRecord | None, Pipeline]:
    """Return the previous record under the name, and the result of the deployment; add remarks."""
    earlier = pipelines.find(connection, name)
    before = None if earlier is None else read_record(connection, earlier.id)
    made = _make(connection, name, deployment, context)[1]
    remarks += _without_effect(connection, deployment.body, earlier, made)
    return before, made


def _without_effect(connection: Connection, body: Deployment, earlier: Pipeline | None, made: Pipeline) -> list[str]:
    """Describe which names for an upgrade have no effect, because no state is taken over by another query."""
    is_new_version = earlier is not None and earlier.version != made.version
    if is_new_version and versions.get(connection, made.id, made.version).upgrade is not None:
        return []
    why = "the state is kept as it is"
    if earlier is None:
        why = "the pipeline is new"
    elif body.force and is_new_version:
        why = "force gives up the whole state"
    named = {"keep_state": body.keep_state, "reset": body.reset, "hold_back": body.hold_back}
    return [f"{field} has no effect on {', '.join(names)}: {why}" for field, names in named.items() if names]


def _create(connection: Connection, name: str, deployment: _Deployment, context: Context) -> Pipeline:
    """Return a new pipeline, with its first version and its job."""
    refuse_id(name)
    if deployment.preview_until is not None:
        refuse_further_preview(connection, context)
    now = context.clock()
    body, planned = deployment.body, deployment.planned
    pipeline = Pipeline(
        id=disk.make("pl"),
        name=name,
        job_id=disk.make("job"),
        version=1,
        parallelism=body.parallelism or 1,
        created_at=now,
        stop=body.stop,
        stop_request=None if body.stop == "none" else StopRequest(deployment.request.caller, now),
        asked_by=deployment.request.who,
        tags=body.tags or {},
    )
    version = planned.as_version(pipeline.id, 1, deployment.spec, now)
    pipelines.add(connection, pipeline)
    versions.add(connection, version)
    jobs.add(connection, Status(pipeline.job_id, pipeline.id, State.CREATED, now, now))
    versions.claim(connection, pipeline.id, 1, planned.targets)
    _set_secrets(connection, pipeline, deployment, context)
    if deployment.preview_until is not None:
        previews.add(connection, pipeline.id, deployment.preview_until)
    return pipeline


def _redeploy(connection: Connection, earlier: Pipeline, deployment: _Deployment, context: Context) -> Pipeline:
    """Return the existing pipeline after a deployment, with its new version, if it makes one."""
    record = read_record(connection, earlier.id)
    current = read_version(connection, earlier.id, earlier.version)
    body, spec, planned, now = deployment.body, deployment.spec, deployment.planned, context.clock()
    changed = earlier if body.parallelism is None else intend.ask_parallelism(earlier, body.parallelism)
    changed = changed if body.tags is None else intend.ask_tags(changed, body.tags)
    changed = intend.ask_stop(changed, record.status, body.stop, StopRequest(deployment.request.caller, now))
    is_refused_its_state = body.force and intend.has_foreign_state(current, planned, record.status)
    _refuse_another_state(earlier, current, deployment)
    if is_refused_its_state or not intend.means_the_same(current, spec, planned):
        has_state = record.status.progress.epoch is not None or context.directory.has_state(changed.id)
        is_bound = is_bound_alike(current, planned) and not _keeps_other_objects(deployment)
        upgrade = None if is_bound else _allowed_upgrade(deployment)
        if upgrade is not None:
            if history_of(StatePaths(context.directory.state(changed.id))) != deployment.history:
                raise StaleWriteError(
                    f"the state of pipeline {changed.name!r} has changed in between", hint="send the request again"
                )
            upgrade = _with_savepoint(connection, record.pipeline, upgrade, deployment, now)
        version = intend.next_version(
            current, spec, planned, now, force=body.force, has_state=has_state, upgrade=upgrade
        )
        versions.add(connection, version)
        versions.claim(connection, changed.id, version.number, planned.targets)
        changed = intend.ask_version(changed, version)
    has_other_secrets = _set_secrets(connection, changed, deployment, context)
    if not has_other_secrets and changed == earlier:
        return changed
    refuse_preview_again(connection, record, changed, context)
    return pipelines.update(connection, replace(changed, asked_by=deployment.request.who))


def _with_savepoint(
    connection: Connection, pipeline: Pipeline, upgrade: Upgrade, deployment: _Deployment, now: datetime
) -> Upgrade:
    """Add a savepoint of the previous state, which the driver takes before it changes anything."""
    number = pipeline.version + 1
    savepoint = Savepoint(
        disk.make("sp"),
        pipeline.id,
        f"before version {number}",
        now,
        creator=deployment.request.caller,
        reason=f"upgrade to version {number}",
        before_version=number,
    )
    savepoints.add(connection, savepoint)
    if (state := deployment.upgrade) is None:
        return replace(upgrade, savepoint_id=savepoint.id)
    before = versions.newest_of_state(connection, pipeline.id, pipeline.version, state)
    return replace(upgrade, savepoint_id=savepoint.id, from_version=before, from_plan=state.fingerprint)


def _set_secrets(connection: Connection, pipeline: Pipeline, deployment: _Deployment, context: Context) -> bool:
    """Store the secrets of the deployment, and those of the objects that it uses; return whether they have changed."""
    given, further = deployment.body.secrets, stored_secrets(connection, context, deployment.spec.query)
    if given is None and not further:
        return False
    vault = context.database.vault
    if given is None:
        values = dict(pipeline_secrets.read(connection, vault, pipeline.id))
    else:
        values = {name: secret.get_secret_value() for name, secret in given.items()}
    return pipeline_secrets.replace(connection, vault, pipeline.id, {**values, **further}, context.clock())
