"""Preview pipelines: each is stopped and deleted when it has had no viewer for a while."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import Column, Connection, Select, Table, Text, insert, select, update

from engine.store.columns import Instant
from engine.store.database import METADATA

PREVIEWS = Table(
    "previews",
    METADATA,
    Column("pipeline_id", Text, primary_key=True),
    Column("until", Instant, nullable=False),
)


def add(connection: Connection, pipeline_id: str, until: datetime) -> None:
    """Record that a new pipeline is a preview, and when its lease ends."""
    connection.execute(insert(PREVIEWS).values(pipeline_id=pipeline_id, until=until))


def until(connection: Connection, pipeline_id: str) -> datetime | None:
    """Return until when a preview lives; None for a pipeline that is none."""
    return connection.execute(
        select(PREVIEWS.c.until).where(PREVIEWS.c.pipeline_id == pipeline_id)
    ).scalar_one_or_none()


def prolong(connection: Connection, pipeline_id: str, instant: datetime) -> None:
    """Extend the lease of a preview."""
    connection.execute(update(PREVIEWS).where(PREVIEWS.c.pipeline_id == pipeline_id).values(until=instant))


def due(connection: Connection, now: datetime) -> Sequence[str]:
    """Return the previews whose lease has ended, by their pipelines."""
    query = select(PREVIEWS.c.pipeline_id).where(PREVIEWS.c.until <= now).order_by(PREVIEWS.c.until)
    return list(connection.execute(query).scalars())


def among(connection: Connection, pipeline_ids: Collection[str]) -> frozenset[str]:
    """Return the given pipelines that are previews."""
    return frozenset(pipeline_ids) & frozenset(connection.execute(all_of_them()).scalars())


def all_of_them() -> Select[tuple[str]]:
    """Return the pipelines that are previews."""
    return select(PREVIEWS.c.pipeline_id)


def ids(connection: Connection) -> Sequence[str]:
    """Return all previews, by their pipelines."""
    query = select(PREVIEWS.c.pipeline_id)
    return list(connection.execute(query).scalars())
