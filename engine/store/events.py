"""What happened to jobs, for their owners to read."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Column, Connection, Integer, Table, Text, insert, select

from engine.jobs.status import JobEvent
from engine.store.columns import Instant
from engine.store.database import METADATA

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
        )
    )


def latest(connection: Connection, job_id: str, limit: int, level: str | None = None) -> Sequence[JobEvent]:
    """The newest events of a job, newest first; of one level, if it is given."""
    query = select(EVENTS).where(EVENTS.c.job_id == job_id).order_by(EVENTS.c.id.desc()).limit(limit)
    if level is not None:
        query = query.where(EVENTS.c.level == level)
    rows = connection.execute(query).mappings()
    return [JobEvent(**row) for row in rows]
