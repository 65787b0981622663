"""Retention rules of a pipeline's savepoints: set them, preview their effect, and apply them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from engine.api.http.bodies import Body
from engine.api.http.change_request import ChangeRequest, ChangeRequestDep, again, earlier_answer, note, record_answer
from engine.api.http.depends import ContextDep
from engine.api.http.dry_run import DryRun
from engine.api.http.problems import refusals
from engine.control.context import Context
from engine.control.savepoints.savepoint_removal import fates, finish
from engine.errors import RetentionError
from engine.jobs.authors import CONTROL_PLANE, JobRecord
from engine.jobs.decisions.status import JobEvent
from engine.jobs.schedules.retention import Fate, Retention, check_retention
from engine.store import savepoints
from engine.store.jobs import events
from engine.store.jobs.records import read_record
from engine.store.pipelines import pipelines

ROUTER = APIRouter(prefix="/pipelines/{pipeline}", tags=["savepoints"], responses=refusals(404))
Count = Annotated[int, Field(ge=1, le=100_000)]
Micros = Annotated[int, Field(ge=1, le=3_155_760_000_000_000)]


class RetentionRules(Body):
    """Retention of a pipeline's savepoints. Pinned savepoints, those in use, and the newest are never deleted."""

    keep_last: Count | None = Field(default=None, description="How many of the newest are kept.")
    daily: Count | None = Field(default=None, description="Of how many days, that have one, the last one is kept.")
    weekly: Count | None = Field(default=None, description="Of how many weeks, that have one, the last one is kept.")
    max_age_micros: Micros | None = Field(default=None, description="How old one may be at most.")
    upgrades_for_micros: Micros | None = Field(
        default=None,
        description="How long those are kept that were taken before an upgrade; without it, for ever.",
    )
    time_zone: str = Field(default="UTC", max_length=64, description="Whose days and weeks are meant.")

    def policy(self) -> Retention:
        """The policy; refused when it makes no sense."""
        policy = Retention(
            self.keep_last,
            self.daily,
            self.weekly,
            _length(self.max_age_micros),
            _length(self.upgrades_for_micros),
            self.time_zone,
        )
        check_retention(policy)
        return policy


class SavepointFate(BaseModel):
    """A savepoint, whether it is deleted, and why."""

    id: str = Field(description="The savepoint.")
    goes: bool = Field(description="Whether it is deleted.")
    reason: str = Field(description="Why.")


class PruneAnswer(BaseModel):
    """Result of retention rules for each savepoint of a pipeline."""

    dry_run: bool = Field(description="Whether nothing was deleted.")
    fates: list[SavepointFate] = Field(description="Every savepoint, oldest first.")
    bytes: int = Field(description="The size of the deleted savepoints, including files that other savepoints share.")


@ROUTER.get("/savepoint-retention")
def get_retention(pipeline: str, context: ContextDep) -> RetentionRules:
    """Show the retention of savepoints. Without a rule, all are kept."""
    with context.database.reading() as connection:
        policy = savepoints.retention(connection, pipelines.get(connection, pipeline).id)
    return shown_retention(policy)


@ROUTER.put("/savepoint-retention", response_model=RetentionRules, responses=refusals(400, 409, 412))
def set_retention(pipeline: str, body: RetentionRules, request: ChangeRequestDep, context: ContextDep) -> Response:
    """Set the retention of savepoints. The control plane deletes the others, now and later."""
    policy = body.policy()
    return _set(context, request, pipeline, policy, f"savepoint retention set: {retention_words(policy)}")


@ROUTER.delete("/savepoint-retention", response_model=RetentionRules, responses=refusals(409, 412))
def remove_retention(pipeline: str, request: ChangeRequestDep, context: ContextDep) -> Response:
    """Keep all savepoints from now on."""
    return _set(context, request, pipeline, None, "all savepoints are kept")


@ROUTER.post("/savepoints/prune", response_model=PruneAnswer, responses=refusals(400, 409, 412))
def prune_now(
    pipeline: str,
    request: ChangeRequestDep,
    context: ContextDep,
    body: RetentionRules | None = None,
    dry_run: DryRun = False,
) -> Response:
    """Delete savepoints by the pipeline's retention, or once by the rules of the body; return each one with the
    reason."""
    named = None if body is None else body.policy()
    with context.database.writing() as connection:
        if (answer := earlier_answer(connection, context, request)) is not None:
            return again(answer)
        record = read_record(connection, pipeline)
        request.check(record.pipeline)
        policy = named or savepoints.retention(connection, record.pipeline.id)
        if policy is None:
            raise RetentionError(
                f"pipeline {record.pipeline.name!r} keeps all its savepoints",
                hint="say with the request what is to be kept, or set a policy first",
            )
        decided = fates(context, connection, record, policy)
        sizes = {s.id: s.bytes or 0 for s in savepoints.in_order(connection, record.pipeline.id)}
        content = PruneAnswer(
            dry_run=dry_run,
            fates=[SavepointFate(id=fate.id, goes=fate.goes, reason=fate.reason) for fate in decided],
            bytes=sum(sizes[fate.id] for fate in decided if fate.goes),
        )
        if dry_run:
            return record_answer(connection, context, replace(request, key=None), 200, content)
        _mark(connection, context, record, decided, request.who)
        response = record_answer(connection, context, request, 200, content)
    finish(context, record.pipeline.id, [fate.id for fate in decided if fate.goes])
    return response


def prune(context: Context, pipeline_id: str) -> None:
    """Delete what goes by a pipeline's policy, if it has one."""
    with context.database.reading() as connection:
        policy = savepoints.retention(connection, pipeline_id)
        if policy is None or not _going(fates(context, connection, read_record(connection, pipeline_id), policy)):
            return
    with context.database.writing() as connection:
        record = read_record(connection, pipeline_id)
        policy = savepoints.retention(connection, pipeline_id)
        decided = [] if policy is None else fates(context, connection, record, policy)
        _mark(connection, context, record, decided, CONTROL_PLANE)
    finish(context, pipeline_id, _going(decided))


def _going(decided: list[Fate]) -> list[str]:
    return [fate.id for fate in decided if fate.goes]


def _mark(connection: Connection, context: Context, record: JobRecord, decided: list[Fate], who: str | None) -> None:
    """Write down which go, and tell the pipeline's owner why."""
    for fate in decided:
        if fate.goes:
            savepoints.mark_deleting(connection, fate.id)
            told = f"savepoint {fate.id} deleted: {fate.reason}"
            events.add(connection, JobEvent(record.pipeline.job_id, context.clock(), "info", told, who=who))


def _set(context: Context, request: ChangeRequest, pipeline: str, policy: Retention | None, told: str) -> Response:
    with context.database.writing() as connection:
        if (answer := earlier_answer(connection, context, request)) is not None:
            return again(answer)
        record = pipelines.get(connection, pipeline)
        request.check(record)
        if policy != savepoints.retention(connection, record.id):
            savepoints.set_retention(connection, record.id, policy)
            note(connection, context, request, record.job_id, told)
        return record_answer(connection, context, request, 200, shown_retention(policy))


def shown_retention(policy: Retention | None) -> RetentionRules:
    """A policy as a body spells it."""
    if policy is None:
        return RetentionRules()
    return RetentionRules(
        keep_last=policy.keep_last,
        daily=policy.daily,
        weekly=policy.weekly,
        max_age_micros=_micros(policy.max_age),
        upgrades_for_micros=_micros(policy.upgrades_for),
        time_zone=policy.time_zone,
    )


def retention_words(policy: Retention) -> str:
    """A policy in one line."""
    counts = [("last", policy.keep_last), ("daily", policy.daily), ("weekly", policy.weekly)]
    ages = [("max age", policy.max_age), ("upgrades for", policy.upgrades_for)]
    return ", ".join(f"{name} {value}" for name, value in [*counts, *ages] if value is not None)


def _length(micros: int | None) -> timedelta | None:
    return None if micros is None else timedelta(microseconds=micros)


def _micros(length: timedelta | None) -> int | None:
    return None if length is None else length // timedelta(microseconds=1)
