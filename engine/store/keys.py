"""Idempotency keys: what each was used for. Its unique index decides between requests that come at once."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Column, Connection, Table, Text, and_, insert, select
from sqlalchemy.exc import IntegrityError

from engine.store.columns import Instant
from engine.store.database import METADATA

KEYS = Table(
    "keys",
    METADATA,
    Column("scope", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("subject", Text, nullable=False),
    Column("pipeline_id", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
)


def claim(connection: Connection, scope: str, key: str, subject: str, pipeline_id: str, at: datetime) -> str:
    """Bind a key to what it is used for, and give what it is bound to: the subject, or an earlier one."""
    row = {"scope": scope, "key": key, "subject": subject, "pipeline_id": pipeline_id, "created_at": at}
    try:
        with connection.begin_nested():
            connection.execute(insert(KEYS).values(row))
    except IntegrityError:
        same = and_(KEYS.c.scope == scope, KEYS.c.key == key)
        earlier: str = connection.execute(select(KEYS.c.subject).where(same)).scalar_one()
        return earlier
    return subject
