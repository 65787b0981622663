"""Hashes of the tokens that are let in."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Column, Connection, Table, Text, select
from sqlalchemy.dialects.sqlite import insert

from engine.store.columns import Instant
from engine.store.database import METADATA

TOKENS = Table(
    "tokens", METADATA, Column("hash", Text, primary_key=True), Column("created_at", Instant, nullable=False)
)


def add(connection: Connection, token_hash: str, at: datetime) -> None:
    """Let a token in."""
    connection.execute(insert(TOKENS).values(hash=token_hash, created_at=at).on_conflict_do_nothing())


def hashes(connection: Connection) -> frozenset[str]:
    """The hashes of all tokens that are let in."""
    return frozenset(connection.execute(select(TOKENS.c.hash)).scalars())
