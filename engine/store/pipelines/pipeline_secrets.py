"""Encrypted secrets of pipelines."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Column, Connection, LargeBinary, Table, Text, delete, insert, select

from engine.store.access.vault import Vault
from engine.store.columns import Instant
from engine.store.database import METADATA

SECRETS = Table(
    "secrets",
    METADATA,
    Column("pipeline_id", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
    Column("set_at", Instant),
)


def replace(connection: Connection, vault: Vault, pipeline_id: str, secrets: Mapping[str, str], now: datetime) -> bool:
    """Replace the secrets of a pipeline; return whether that changes any. An unchanged secret keeps the time when it
    was set."""
    before = read(connection, vault, pipeline_id)
    if before == secrets:
        return False
    changed = {name: value for name, value in secrets.items() if before.get(name) != value}
    stale = [name for name in before if name not in secrets or name in changed]
    connection.execute(delete(SECRETS).where(SECRETS.c.pipeline_id == pipeline_id, SECRETS.c.name.in_(stale)))
    for name, value in changed.items():
        row = {"pipeline_id": pipeline_id, "name": name, "sealed": vault.seal(value), "set_at": now}
        connection.execute(insert(SECRETS).values(row))
    return True


def times(connection: Connection, pipeline_id: str) -> Mapping[str, datetime | None]:
    """Return when each secret of a pipeline was set, ordered by name; None for secrets from before the time was
    recorded."""
    of_pipeline = select(SECRETS.c.name, SECRETS.c.set_at).where(SECRETS.c.pipeline_id == pipeline_id)
    rows = connection.execute(of_pipeline.order_by(SECRETS.c.name))
    return {row.name: row.set_at for row in rows}


def read(connection: Connection, vault: Vault, pipeline_id: str) -> Mapping[str, str]:
    """Return the secrets of a pipeline by their names."""
    rows = connection.execute(select(SECRETS.c.name, SECRETS.c.sealed).where(SECRETS.c.pipeline_id == pipeline_id))
    return {name: vault.unseal(sealed) for name, sealed in rows}
