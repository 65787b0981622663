"""Schedules of savepoints: set, show and delete them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from engine.api.answers import Page
from engine.api.http.bodies import Body
from engine.api.http.change_request import (
    ChangeRequest,
    ChangeRequestDep,
    DryRun,
    again,
    earlier_answer,
    note,
    record_answer,
)
from engine.api.http.problems import ContextDep, refusals
from engine.control.context import Context
from engine.control.savepoints.savepoint_removal import fates, finish, mark_for_deletion
from engine.control.savepoints.scheduled_savepoints import next_after
from engine.errors import RequestError, RetentionError
from engine.jobs.schedules.retention import Retention, check_retention
from engine.jobs.schedules.savepoint_schedule import Schedule, read_timetable, words_of
from engine.store import savepoints
from engine.store.jobs.records import read_record
from engine.store.pipelines import pipelines
from engine.store.savepoints import StoredSchedule
from engine.values.instants import to_micros

SAVEPOINT_RULES_ROUTER = APIRouter(prefix="/pipelines/{pipeline}", tags=["savepoints"], responses=refusals(404))
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
        """Return the policy; raise if it is invalid."""
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


@SAVEPOINT_RULES_ROUTER.get("/savepoint-retention")
def get_retention(pipeline: str, context: ContextDep) -> RetentionRules:
    """Show the retention of savepoints. Without a rule, all are kept."""
    with context.database.reading() as connection:
        policy = savepoints.retention(connection, pipelines.get(connection, pipeline).id)
    return shown_retention(policy)


@SAVEPOINT_RULES_ROUTER.put("/savepoint-retention", response_model=RetentionRules, responses=refusals(400, 409, 412))
def set_retention(pipeline: str, body: RetentionRules, request: ChangeRequestDep, context: ContextDep) -> Response:
    """Set the retention of savepoints. The control plane deletes the others, now and later."""
    policy = body.policy()
    return _set(context, request, pipeline, policy, f"savepoint retention set: {retention_words(policy)}")


@SAVEPOINT_RULES_ROUTER.delete("/savepoint-retention", response_model=RetentionRules, responses=refusals(409, 412))
def remove_retention(pipeline: str, request: ChangeRequestDep, context: ContextDep) -> Response:
    """Keep all savepoints from now on."""
    return _set(context, request, pipeline, None, "all savepoints are kept")


@SAVEPOINT_RULES_ROUTER.post("/savepoints/prune", response_model=PruneAnswer, responses=refusals(400, 409, 412))
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
        mark_for_deletion(connection, context, record, decided, request.who)
        response = record_answer(connection, context, request, 200, content)
    finish(context, record.pipeline.id, [fate.id for fate in decided if fate.goes])
    return response


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
    """Return a policy in the form of a request body."""
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
    """Return a policy in one line."""
    counts = [("last", policy.keep_last), ("daily", policy.daily), ("weekly", policy.weekly)]
    ages = [("max age", policy.max_age), ("upgrades for", policy.upgrades_for)]
    return ", ".join(f"{name} {value}" for name, value in [*counts, *ages] if value is not None)


def _length(micros: int | None) -> timedelta | None:
    return None if micros is None else timedelta(microseconds=micros)


def _micros(length: timedelta | None) -> int | None:
    return None if length is None else length // timedelta(microseconds=1)


ROUTER = APIRouter(prefix="/pipelines/{pipeline}/savepoint-schedule", tags=["savepoints"], responses=refusals(404))
ALL = APIRouter(prefix="/savepoint-schedules", tags=["savepoints"])


class ScheduleRules(Body):
    """Schedule of savepoints: each instant once, while the pipeline runs."""

    cron: str = Field(
        max_length=256,
        description="Minute, hour, day of the month, month and day of the week: `30 2 * * *` is 02:30 every day.",
    )
    time_zone: str = Field(default="UTC", max_length=64, description="Whose clocks are meant.")
    blackout: list[Annotated[str, Field(max_length=64)]] = Field(
        default=[],
        max_length=32,
        description="Windows in which none is taken, such as `mon-fri 09:00-17:00`, by the same clocks.",
    )
    drill: bool = Field(
        default=False,
        description="Whether each is restored into a scratch directory afterwards, and every row of its state read.",
    )
    paused: bool = Field(
        default=False, description="Whether none is taken for now. What is due meanwhile is not caught up afterwards."
    )
    retention: RetentionRules | None = Field(
        default=None, description="What of the pipeline's savepoints is kept; without it, that stays as it is."
    )

    def schedule(self) -> Schedule:
        """Return the schedule."""
        return Schedule(self.cron, self.time_zone, tuple(self.blackout), self.drill, self.paused)


class ScheduleOutcome(BaseModel):
    """The result of the last savepoint that was due."""

    at: int = Field(description="The instant.")
    state: str = Field(description="`taking`, `taken`, `drilling`, `proven`, `left_out` or `failed`.")
    savepoint: str | None = Field(description="The savepoint, if one was taken.")
    reason: str | None = Field(description="Why there is none, or none that is known to be good.")


class SavepointSchedule(BaseModel):
    """Schedule of a pipeline's savepoints. Without a schedule, all fields are null."""

    cron: str | None = Field(default=None, description="The cron expression.")
    time_zone: str | None = Field(default=None, description="Whose clocks are meant.")
    blackout: list[str] = Field(default=[], description="Windows in which none is taken.")
    drill: bool = Field(default=False, description="Whether each is restored and read afterwards.")
    paused: bool = Field(default=False, description="Whether none is taken for now.")
    next_at: int | None = Field(default=None, description="The instant that is due next; null while it is paused.")
    last: ScheduleOutcome | None = Field(default=None, description="The result of the last savepoint that was due.")
    retention: RetentionRules = Field(description="What of the pipeline's savepoints is kept.")


class ListedSchedule(SavepointSchedule):
    """Schedule of one pipeline's savepoints."""

    pipeline_id: str = Field(description="The pipeline.")
    pipeline: str = Field(description="What it is called.")


@ROUTER.get("")
def get_schedule(pipeline: str, context: ContextDep) -> SavepointSchedule:
    """Show the schedule of savepoints, and the last result."""
    with context.database.reading() as connection:
        return _shown(connection, pipelines.get(connection, pipeline).id)


@ROUTER.put("", response_model=SavepointSchedule, responses=refusals(400, 409, 412))
def set_schedule(pipeline: str, body: ScheduleRules, request: ChangeRequestDep, context: ContextDep) -> Response:
    """Set the schedule of savepoints. The control plane takes one per instant. It catches up a missed one when it is
    back, unless a later one is due."""
    schedule, timetable = body.schedule(), read_timetable(body.schedule())
    policy = None if body.retention is None else body.retention.policy()
    if schedule.drill and context.drill is None:
        raise RequestError("this control plane plays no drills", hint="leave out the drill")
    with context.database.writing() as connection:
        if (answer := earlier_answer(connection, context, request)) is not None:
            return again(answer)
        record = pipelines.get(connection, pipeline)
        request.check(record)
        before = savepoints.schedule(connection, record.id)
        stored = _over(before, schedule, next_after(timetable, context.clock()))
        if stored != before:
            savepoints.set_schedule(connection, record.id, stored)
            note(connection, context, request, record.job_id, f"savepoint schedule set: {words_of(schedule)}")
        if policy is not None and policy != savepoints.retention(connection, record.id):
            savepoints.set_retention(connection, record.id, policy)
            told = f"savepoint retention set: {retention_words(policy)}"
            note(connection, context, request, record.job_id, told)
        return record_answer(connection, context, request, 200, _shown(connection, record.id))


@ALL.get("")
def list_all(context: ContextDep) -> Page[ListedSchedule]:
    """List the pipelines with scheduled savepoints, by name."""
    with context.database.reading() as connection:
        schedules = savepoints.all_schedules(connection)
        policies = savepoints.all_retentions(connection)
        names = pipelines.names(connection)
    data = [
        ListedSchedule(
            pipeline_id=pipeline_id,
            pipeline=names[pipeline_id],
            **_shown_schedule(schedules[pipeline_id], policies.get(pipeline_id)).model_dump(),
        )
        for pipeline_id in sorted(schedules.keys() & names.keys(), key=lambda pipeline_id: names[pipeline_id])
    ]
    return Page(data=data)


@ROUTER.delete("", response_model=SavepointSchedule, responses=refusals(409, 412))
def remove_schedule(pipeline: str, request: ChangeRequestDep, context: ContextDep) -> Response:
    """Delete the schedule of savepoints. Existing savepoints and the retention stay."""
    with context.database.writing() as connection:
        if (answer := earlier_answer(connection, context, request)) is not None:
            return again(answer)
        record = pipelines.get(connection, pipeline)
        request.check(record)
        if savepoints.schedule(connection, record.id) is not None:
            savepoints.set_schedule(connection, record.id, None)
            note(connection, context, request, record.job_id, "savepoint schedule removed")
        return record_answer(connection, context, request, 200, _shown(connection, record.id))


def _over(before: StoredSchedule | None, schedule: Schedule, next_at: datetime) -> StoredSchedule:
    """Return the schedule that replaces another one. With the same instants it keeps what is due, unless it was paused
    meanwhile. Otherwise it begins with its next instant."""
    if before is None or (before.schedule.cron, before.schedule.time_zone) != (schedule.cron, schedule.time_zone):
        return StoredSchedule(schedule, next_at)
    goes_on = before.schedule.paused and not schedule.paused
    return StoredSchedule(schedule, next_at if goes_on else before.due_at, before.last_at, before.last)


def _shown(connection: Connection, pipeline_id: str) -> SavepointSchedule:
    return _shown_schedule(savepoints.schedule(connection, pipeline_id), savepoints.retention(connection, pipeline_id))


def _shown_schedule(stored: StoredSchedule | None, policy: Retention | None) -> SavepointSchedule:
    """Return a schedule with a policy in the form of the API."""
    retention = shown_retention(policy)
    if stored is None:
        return SavepointSchedule(retention=retention)
    last = None
    if stored.last is not None and stored.last_at is not None:
        last = ScheduleOutcome(
            at=to_micros(stored.last_at),
            state=stored.last.state,
            savepoint=stored.last.savepoint_id,
            reason=stored.last.reason,
        )
    return SavepointSchedule(
        cron=stored.schedule.cron,
        time_zone=stored.schedule.time_zone,
        blackout=list(stored.schedule.blackout),
        drill=stored.schedule.drill,
        paused=stored.schedule.paused,
        next_at=None if stored.schedule.paused else to_micros(stored.due_at),
        last=last,
        retention=retention,
    )
