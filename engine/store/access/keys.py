"""Idempotency keys: the request of each, and its recorded response."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Column, Connection, Integer, LargeBinary, Table, Text, and_, delete, insert, select

from engine.store.columns import Instant
from engine.store.database import METADATA

KEPT_FOR = timedelta(days=30)
"""Retention of a response: as long as Airflow retains a task's XComs, for late retries."""

KEYS = Table(
    "keys",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("status", Integer, nullable=False),
    Column("etag", Text),
    Column("body", LargeBinary, nullable=False),
    Column("created_at", Instant, nullable=False, index=True),
)


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """Recorded response of a key's request; `digest` is that of the request."""

    digest: str
    status: int
    etag: str | None
    body: bytes


def find(connection: Connection, key: str, at: datetime) -> KeptAnswer | None:
    """Return the answer that is stored under a key."""
    newer = and_(KEYS.c.key == key, KEYS.c.created_at >= at - KEPT_FOR)
    row = connection.execute(select(KEYS).where(newer)).mappings().one_or_none()
    return None if row is None else KeptAnswer(row["digest"], row["status"], row["etag"], zlib.decompress(row["body"]))


def add(connection: Connection, key: str, answer: KeptAnswer, at: datetime) -> None:
    """Store an answer under a key, and delete those that have expired. Answers contain texts and plans, which compress
    to a tenth."""
    connection.execute(delete(KEYS).where(KEYS.c.created_at < at - KEPT_FOR))
    connection.execute(
        insert(KEYS).values(
            key=key,
            digest=answer.digest,
            status=answer.status,
            etag=answer.etag,
            body=zlib.compress(answer.body),
            created_at=at,
        )
    )
