"""Events of jobs, for their owners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from sqlalchemy import Column, Connection, Integer, Table, Text, insert, select

from engine.jobs.decisions.status import JobEvent
from engine.store.columns import Instant
from engine.store.database import METADATA
from engine.store.pipelines import previews
from engine.store.pipelines.pipelines import PIPELINES

Severity = Literal["info", "warn", "error"]
_AT_LEAST = {"info": ("info", "warn", "error"), "warn": ("warn", "error"), "error": ("error",)}

EVENTS = Table(
    "notes",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("job_id", Text, nullable=False, index=True),
    Column("at", Instant, nullable=False),
    Column("level", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("code", Text),
    Column("hint", Text),
    Column("generation", Integer),
    Column("who", Text),
    Column("requested_by", Text),
)


def add(connection: Connection, event: JobEvent) -> None:
    """Store an event."""
    connection.execute(
        insert(EVENTS).values(
            job_id=event.job_id,
            at=event.at,
            level=event.level,
            message=event.message,
            code=event.code,
            hint=event.hint,
            generation=event.generation,
            who=event.who,
            requested_by=event.requested_by,
        )
    )


def latest(connection: Connection, job_id: str, limit: int, level: str | None = None) -> Sequence[JobEvent]:
    """Return the newest events of a job, newest first; of one level, if it is given."""
    query = select(EVENTS).where(EVENTS.c.job_id == job_id).order_by(EVENTS.c.id.desc()).limit(limit)
    if level is not None:
        query = query.where(EVENTS.c.level == level)
    rows = connection.execute(query).mappings()
    return [JobEvent(**row) for row in rows]


def newest_messages(connection: Connection, code: str, runs: Mapping[str, int]) -> Mapping[str, str]:
    """Return the newest message with a code for the run of each job; jobs without such an event are left out."""
    if not runs:
        return {}
    columns = select(EVENTS.c.job_id, EVENTS.c.generation, EVENTS.c.message)
    query = columns.where(EVENTS.c.job_id.in_(runs), EVENTS.c.code == code).order_by(EVENTS.c.id)
    rows = connection.execute(query)
    return {job_id: message for job_id, generation, message in rows if generation == runs[job_id]}


@dataclass(frozen=True, slots=True)
class EventQuery:
    """Filter of events: of one job or of all but previews, before or after an event, since an instant, and with a
    minimum severity."""

    job_id: str | None = None
    after: int | None = None
    before: int | None = None
    since: datetime | None = None
    severity: Severity = "info"

    def of(self, job_id: str) -> EventQuery:
        """Return this query for one job."""
        return replace(self, job_id=job_id)


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event, and its pipeline."""

    event: JobEvent
    pipeline_id: str
    pipeline: str


def page(connection: Connection, filters: EventQuery, limit: int) -> Sequence[StoredEvent]:
    """Return events of existing pipelines, newest first; with `after`, those after that event, oldest first."""
    named = (PIPELINES.c.id.label("pipeline_id"), PIPELINES.c.name.label("pipeline"))
    query = select(EVENTS, *named).join(PIPELINES, PIPELINES.c.job_id == EVENTS.c.job_id).limit(limit)
    query = query.order_by(EVENTS.c.id.desc() if filters.after is None else EVENTS.c.id)
    if filters.severity != "info":
        query = query.where(EVENTS.c.level.in_(_AT_LEAST[filters.severity]))
    if filters.job_id is not None:
        query = query.where(EVENTS.c.job_id == filters.job_id)
    else:
        query = query.where(PIPELINES.c.id.not_in(previews.all_of_them()))
    if filters.after is not None:
        query = query.where(EVENTS.c.id > filters.after)
    if filters.before is not None:
        query = query.where(EVENTS.c.id < filters.before)
    if filters.since is not None:
        query = query.where(EVENTS.c.at >= filters.since)
    return [_stored(dict(row)) for row in connection.execute(query).mappings()]


def _stored(row: dict[str, object]) -> StoredEvent:
    pipeline_id, pipeline = str(row.pop("pipeline_id")), str(row.pop("pipeline"))
    return StoredEvent(JobEvent(**row), pipeline_id, pipeline)  # type: ignore[arg-type] # the columns are its fields
