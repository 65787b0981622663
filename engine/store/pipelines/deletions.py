"""Deleted pipelines whose directories still have to be removed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Column, Connection, Table, Text, delete, insert, select

from engine.store.columns import Instant
from engine.store.database import METADATA

DELETIONS = Table(
    "deletions",
    METADATA,
    Column("pipeline_id", Text, primary_key=True),
    Column("asked_at", Instant, nullable=False),
)


def add(connection: Connection, pipeline_id: str, at: datetime) -> None:
    """Record that the directories of a pipeline are to be removed."""
    connection.execute(insert(DELETIONS).values(pipeline_id=pipeline_id, asked_at=at))


def pending(connection: Connection) -> Sequence[str]:
    """Return the pipelines whose directories may still be there, the oldest deletion first."""
    return list(connection.execute(select(DELETIONS.c.pipeline_id).order_by(DELETIONS.c.asked_at)).scalars())


def settle(connection: Connection, pipeline_id: str) -> None:
    """Delete a completed deletion."""
    connection.execute(delete(DELETIONS).where(DELETIONS.c.pipeline_id == pipeline_id))
