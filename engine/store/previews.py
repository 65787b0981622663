"""Pipelines that are previews: each is stopped and deleted when nobody has looked at it for a while."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import Column, Connection, Select, Table, Text, func, insert, select, update

from engine.jobs.states import State
from engine.store.columns import Instant
from engine.store.database import METADATA
from engine.store.jobs import JOBS

_RESTING = [state.value for state in State if state.is_terminal]

PREVIEWS = Table(
    "previews",
    METADATA,
    Column("pipeline_id", Text, primary_key=True),
    Column("until", Instant, nullable=False),
)


def add(connection: Connection, pipeline_id: str, until: datetime) -> None:
    """Write down that a new pipeline is a preview, and until when it is kept."""
    connection.execute(insert(PREVIEWS).values(pipeline_id=pipeline_id, until=until))


def until(connection: Connection, pipeline_id: str) -> datetime | None:
    """Until when a preview is kept; None of a pipeline that is none."""
    return connection.execute(
        select(PREVIEWS.c.until).where(PREVIEWS.c.pipeline_id == pipeline_id)
    ).scalar_one_or_none()


def prolong(connection: Connection, pipeline_id: str, instant: datetime) -> None:
    """Keep a preview until then."""
    connection.execute(update(PREVIEWS).where(PREVIEWS.c.pipeline_id == pipeline_id).values(until=instant))


def not_at_rest(connection: Connection) -> int:
    """How many previews have a job that is not at rest."""
    query = select(func.count()).join_from(PREVIEWS, JOBS, PREVIEWS.c.pipeline_id == JOBS.c.pipeline_id)
    return connection.execute(query.where(JOBS.c.state.not_in(_RESTING))).scalar_one()


def due(connection: Connection, now: datetime) -> Sequence[str]:
    """The previews that are not kept any longer, by their pipelines."""
    query = select(PREVIEWS.c.pipeline_id).where(PREVIEWS.c.until <= now).order_by(PREVIEWS.c.until)
    return list(connection.execute(query).scalars())


def among(connection: Connection, pipeline_ids: Collection[str]) -> frozenset[str]:
    """Those of some pipelines that are previews."""
    return frozenset(pipeline_ids) & frozenset(connection.execute(all_of_them()).scalars())


def all_of_them() -> Select[tuple[str]]:
    """The pipelines that are previews."""
    return select(PREVIEWS.c.pipeline_id)
