"""What happened to jobs, for their owners to read."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Column, Connection, Integer, Table, Text, insert, select

from engine.jobs.status import Note
from engine.store.columns import Instant
from engine.store.database import METADATA

NOTES = Table(
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
)


def add(connection: Connection, note: Note) -> None:
    """Store a note."""
    connection.execute(
        insert(NOTES).values(
            job_id=note.job_id,
            at=note.at,
            level=note.level,
            message=note.message,
            code=note.code,
            hint=note.hint,
            generation=note.generation,
        )
    )


def latest(connection: Connection, job_id: str, limit: int, level: str | None = None) -> Sequence[Note]:
    """The newest notes of a job, newest first; of one level, if it is given."""
    query = select(NOTES).where(NOTES.c.job_id == job_id).order_by(NOTES.c.id.desc()).limit(limit)
    if level is not None:
        query = query.where(NOTES.c.level == level)
    rows = connection.execute(query).mappings()
    return [
        Note(r["job_id"], r["at"], r["level"], r["message"], r["code"], r["hint"], r["generation"], r["id"])
        for r in rows
    ]
