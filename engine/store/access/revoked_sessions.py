"""Browser sessions that have logged out, until they expire. Only the hash of a cookie's seal is stored, so that the
database contains no valid cookie."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Column, Connection, Table, Text, delete, select
from sqlalchemy.dialects.sqlite import insert

from engine.store.columns import Instant
from engine.store.database import METADATA

LEFT_SESSIONS = Table(
    "left_sessions",
    METADATA,
    Column("seal_hash", Text, primary_key=True),
    Column("until", Instant, nullable=False),
)


def add(connection: Connection, seal_hash: str, until: datetime, now: datetime) -> None:
    """Store an ended session, and delete those that have expired anyway."""
    connection.execute(delete(LEFT_SESSIONS).where(LEFT_SESSIONS.c.until <= now))
    row = {"seal_hash": seal_hash, "until": until}
    connection.execute(insert(LEFT_SESSIONS).values(row).on_conflict_do_nothing())


def read(connection: Connection) -> Mapping[str, datetime]:
    """Return until when each session must be remembered, by the hash of its seal."""
    return {row.seal_hash: row.until for row in connection.execute(select(LEFT_SESSIONS))}
