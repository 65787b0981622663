"""Reprocess a pipeline: a second pipeline reads its input again and writes to other targets.

orders writes the topic counts; reprocess it from 1 January into `again`

    orders          keeps running
    orders-again    the same query with SET sink_prefix = 'again': it writes the topic again-counts; it reads the
                    history since 1 January, and continues with new rows at the very next offset

The rules of the prefix: docs/decisions/a-script-writes-elsewhere-under-a-prefix.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field
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
)
from engine.api.http.problems import ContextDep, refusals
from engine.api.pipelines.deployments import Name, Secrets
from engine.api.pipelines.pipelines import show
from engine.api.upgrades.hand_overs import refuse_another, refuse_one_at_rest, says
from engine.control.context import Context
from engine.control.plan_deployment import plan_of, refuse_id
from engine.control.stored_objects import stored_secrets
from engine.control.upgrades.hand_over_plans import READS, refuse_other_values
from engine.delivery.faults import reach
from engine.errors import BackfillError, PipelineExistsError
from engine.jobs import disk
from engine.jobs.decisions.spec import Pipeline, PlannedQuery, Spec
from engine.jobs.decisions.states import State
from engine.jobs.decisions.status import Status
from engine.jobs.fault_points import ControlPoint
from engine.store.jobs import jobs
from engine.store.jobs.records import read_record
from engine.store.pipelines import pipeline_secrets, pipelines, reprocessings, versions
from engine.store.pipelines.reprocessings import Reprocessing
from engine.values.run_settings import read_run_settings
from engine.values.sink_prefix import writing_under

ROUTER = APIRouter(prefix="/pipelines/{pipeline}", tags=["pipelines"], responses=refusals(404))
_STAYS = (
    "the pipeline that is reprocessed runs on, and rows that it has written stay where they are",
    "what is read again is written under the prefix alone",
)


class ReprocessRequest(Body):
    """The start of the input to read again, and the prefix of the output."""

    into: str = Field(description="The prefix under which the new pipeline writes: folders, topics, keys.")
    since: str | None = Field(
        default=None, max_length=64, description="The instant from which on rows are read, by event time."
    )
    start_from: str | None = Field(
        default=None,
        max_length=65_536,
        description='Where tables begin; by default at the first record: `clicks=offsets:{"0": 12}; orders=earliest`.',
    )
    partial_windows: bool = Field(
        default=False, description="Whether windows that the range cuts through may have a part of their rows."
    )
    name: Name | None = Field(
        default=None, description="What the new pipeline is called; by default as the original, a dash, and the prefix."
    )
    secrets: Secrets | None = Field(default=None, description="The secrets that its script names; by default the same.")
    hand_over: bool = Field(
        default=False,
        description="Whether it is to take the place of the original once it has caught up, as `POST .../hand-over` "
        "has it.",
    )
    accept_other_values: bool = Field(
        default=False,
        description="Whether, with `hand_over`, rows that change may be taken back with the "
        "recomputed values, also where the original had written others.",
    )


class ReprocessingAnswer(BaseModel):
    """The effects of a reprocessing."""

    pipeline: str = Field(description="The original, which is not touched.")
    name: str = Field(description="The new pipeline.")
    writes: list[str] = Field(description="Where each of its sinks writes, and where that of the original does.")
    stays: list[str] = Field(description="What stays as it is.")


class ReprocessedPipeline(answers.Pipeline):
    """The new pipeline."""

    reprocesses: ReprocessingAnswer = Field(description="What it does beside which pipeline.")


@dataclass(frozen=True, slots=True)
class _Plan:
    body: ReprocessRequest
    request: ChangeRequest
    origin: Pipeline
    name: str
    parallelism: int
    spec: Spec
    planned: PlannedQuery
    writes: tuple[str, ...]
    told: tuple[str, ...] = ()

    def make(self, connection: Connection, context: Context) -> Pipeline:
        """Return the pipeline, with its version and its job; raise if the name or a target is taken meanwhile."""
        now, planned = context.clock(), self.planned
        pipelines.get(connection, self.origin.id)  # it may have been deleted since
        pipeline = Pipeline(
            id=disk.make("pl"),
            name=self.name,
            job_id=disk.make("job"),
            version=1,
            parallelism=self.parallelism,
            created_at=now,
            asked_by=self.request.who,
        )
        if not pipelines.add(connection, pipeline):
            raise PipelineExistsError(f"there is a pipeline {self.name!r} already", hint=self._way_out(connection))
        version = planned.as_version(pipeline.id, 1, self.spec, now)
        versions.add(connection, version)
        jobs.add(connection, Status(pipeline.job_id, pipeline.id, State.CREATED, now, now))
        versions.claim(connection, pipeline.id, 1, planned.targets)
        vault = context.database.vault
        values = dict(pipeline_secrets.read(connection, vault, self.origin.id))
        if self.body.secrets is not None:
            values = {name: secret.get_secret_value() for name, secret in self.body.secrets.items()}
        values |= stored_secrets(connection, context, self.spec.query)
        pipeline_secrets.replace(connection, vault, pipeline.id, values, now)
        row = Reprocessing(pipeline.id, self.origin.id, "apart", now)
        if self.body.hand_over:
            refuse_one_at_rest(read_record(connection, self.origin.id))
            refuse_another(connection, row)
            row = replace(row, step="waiting", origin_version=self.origin.version, copy_version=1)
            row = replace(row, asked_by=self.request.who)
        reprocessings.put(connection, row)
        return pipeline

    def _way_out(self, connection: Connection) -> str:
        """Return the hint for a name that is taken: the pipeline may be the one that an earlier request has created."""
        row = reprocessings.find(connection, read_record(connection, self.name).pipeline.id)
        if row is None or row.origin_id != self.origin.id:
            return "give the new one another name"
        told = f"it reads the input of {self.origin.name} again already: "
        if self.body.hand_over:
            told += "ask for its hand-over without saying where to begin; "
        return f"{told}delete it first, or give the new one another name and another prefix"

    @property
    def answer(self) -> ReprocessingAnswer:
        """As the API says it."""
        stays = says(self.origin.name, self.name, self.told) if self.body.hand_over else _STAYS
        return ReprocessingAnswer(
            pipeline=self.origin.name, name=self.name, writes=list(self.writes), stays=list(stays)
        )


@ROUTER.post(
    "/reprocess",
    status_code=201,
    response_model=ReprocessedPipeline,
    responses={200: {"model": ReprocessingAnswer}, **refusals(400, 409, 412)},
)
def reprocess(
    pipeline: str, body: ReprocessRequest, request: ChangeRequestDep, context: ContextDep, dry_run: DryRun = False
) -> Response:
    """Create a second pipeline that reads the same input again, writes elsewhere, and continues with new rows. Refused
    if the input cannot be read again."""
    with context.database.reading() as connection:
        if (answer := earlier_answer(connection, context, request)) is not None:
            return again(answer)
    plan = _plan(context, request, pipeline, body)
    if dry_run:
        with context.database.rehearsing() as connection:
            plan.make(connection, context)
        return Response(plan.answer.model_dump_json(), media_type="application/json")
    with context.database.writing() as connection:
        if (answer := earlier_answer(connection, context, request)) is not None:
            return again(answer)
        made = plan.make(connection, context)
        told = f"reprocessing the input of pipeline {plan.origin.name!r} into {body.into!r}"
        note(connection, context, request, made.job_id, told)
        note_asking_run(connection, context, request, made)
        note(connection, context, request, plan.origin.job_id, f"reprocessing by pipeline {made.name!r} requested")
        content = ReprocessedPipeline(**dict(show(connection, made.id, context)), reprocesses=plan.answer)
        response = record_answer(connection, context, request, 201, content, made)
    reach(ControlPoint.AFTER_CHANGE)
    context.changed(made.id)
    return response


def _plan(context: Context, request: ChangeRequest, pipeline: str, body: ReprocessRequest) -> _Plan:
    """Validate the request completely; raise with the reason if it cannot be done."""
    if body.since is None and body.start_from is None:
        raise BackfillError("no start for reading again is given", hint="name an instant, or where tables begin")
    with context.database.reading() as connection:
        record = read_record(connection, pipeline)
        request.check(record.pipeline)
        version = versions.get(connection, record.pipeline.id, record.pipeline.version)
    name = body.name or f"{record.pipeline.name}-{body.into}"
    refuse_id(name)
    spec = Spec(
        writing_under(version.spec.query, body.into),
        version.spec.udfs,
        _settings(version.spec.settings, body),
        version.spec.checkpoint_interval,
    )
    _refuse_the_future(spec.settings, context.clock())
    planned = plan_of(spec, context)
    if body.hand_over and not body.accept_other_values:
        refuse_other_values(context, spec, record.pipeline.name)
    writes = context.planner.reprocess(spec.query, spec.udfs, spec.settings)
    return _Plan(body, request, record.pipeline, name, record.pipeline.parallelism, spec, planned, tuple(writes))


def _refuse_the_future(settings: Mapping[str, str], now: datetime) -> None:
    """Refuse an instant in the future: every row before it would be left out, also by the original once it continues
    from there."""
    backfill = read_run_settings(settings).backfill
    if backfill is not None and backfill.since is not None and backfill.since > now:
        raise BackfillError(
            f"{backfill.since:%Y-%m-%dT%H:%M:%SZ} is in the future: every row would be left out",
            hint="name an instant in the past, or where tables begin: --start-from TABLE=earliest",
        )


def _settings(of_origin: Mapping[str, str], body: ReprocessRequest) -> Mapping[str, str]:
    """Return the settings of the original, except for those of the input."""
    kept = {name: text for name, text in of_origin.items() if name not in READS}
    since = {} if body.since is None else {"history_from": body.since}
    starts = {} if body.start_from is None else {"start_from": body.start_from}
    partial = {"partial_windows": "on"} if body.partial_windows else {}
    return {**kept, **since, **starts, **partial, "then_continue": "on"}
