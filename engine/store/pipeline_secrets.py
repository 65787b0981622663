"""The secrets that pipelines were deployed with, sealed."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Column, Connection, LargeBinary, Table, Text, delete, insert, select

from engine.store.database import METADATA
from engine.store.vault import Vault

SECRETS = Table(
    "secrets",
    METADATA,
    Column("pipeline_id", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
)


def replace(connection: Connection, vault: Vault, pipeline_id: str, secrets: Mapping[str, str]) -> bool:
    """Let a pipeline have these secrets and no others; whether that changes any."""
    if read(connection, vault, pipeline_id) == secrets:
        return False
    connection.execute(delete(SECRETS).where(SECRETS.c.pipeline_id == pipeline_id))
    for name, value in secrets.items():
        connection.execute(insert(SECRETS).values(pipeline_id=pipeline_id, name=name, sealed=vault.seal(value)))
    return True


def read(connection: Connection, vault: Vault, pipeline_id: str) -> Mapping[str, str]:
    """The secrets of a pipeline by their names."""
    rows = connection.execute(select(SECRETS.c.name, SECRETS.c.sealed).where(SECRETS.c.pipeline_id == pipeline_id))
    return {name: vault.unseal(sealed) for name, sealed in rows}
