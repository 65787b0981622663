"""Which pipelines have changed since when. Triggers write it (`migrations/m0025_changes.py`); here it is only read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Boolean, Column, Connection, Integer, Table, Text, select

from engine.store.database import METADATA

CHANGES = Table(
    "changes",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("pipeline_id", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("deleted", Boolean, nullable=False),
)
CHANGE_LOG = Table(
    "change_log", METADATA, Column("id", Text, nullable=False), Column("forgotten", Integer, nullable=False)
)


@dataclass(frozen=True, slots=True)
class StoredChange:
    """The newest change of one pipeline; later ones have larger numbers."""

    number: int
    pipeline_id: str
    name: str
    deleted: bool


@dataclass(frozen=True, slots=True)
class ChangeLog:
    """Which log this is, and up to where deletions are not known any more."""

    id: str
    forgotten: int


def log(connection: Connection) -> ChangeLog:
    """Return the identity of the event log and how much of it was forgotten."""
    return ChangeLog(*connection.execute(select(CHANGE_LOG.c.id, CHANGE_LOG.c.forgotten)).one())


def since(connection: Connection, number: int) -> Sequence[StoredChange]:
    """Each pipeline that has changed after that one, in the order of their newest changes."""
    query = select(CHANGES).where(CHANGES.c.number > number).order_by(CHANGES.c.number)
    return [StoredChange(**row) for row in connection.execute(query).mappings()]
