"""Valid tokens, as hashes, and browser sessions that have logged out.

Only the hash of a cookie's seal is stored, so that the database contains no valid cookie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Column, Connection, Table, Text, delete, select, update
from sqlalchemy.dialects.sqlite import insert

from engine.errors import TokenExistsError, TokenNotFoundError
from engine.store.columns import Instant
from engine.store.database import METADATA

TOKENS = Table(
    "tokens",
    METADATA,
    Column("hash", Text, primary_key=True),
    Column("created_at", Instant, nullable=False),
    Column("name", Text),
    Column("created_by", Text),
    Column("expires_at", Instant),
    Column("revoked_at", Instant),
)


@dataclass(frozen=True, slots=True)
class NamedToken:
    """A token for a user or client. Its value is not stored."""

    hash: str
    name: str
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def is_valid(self, at: datetime) -> bool:
        """Whether it is accepted."""
        return self.revoked_at is None and (self.expires_at is None or at < self.expires_at)


def add(connection: Connection, token_hash: str, at: datetime) -> None:
    """Accept a token of the admin."""
    connection.execute(insert(TOKENS).values(hash=token_hash, created_at=at).on_conflict_do_nothing())


def hashes(connection: Connection) -> frozenset[str]:
    """Return the hashes of the admin's tokens."""
    return frozenset(connection.execute(select(TOKENS.c.hash).where(TOKENS.c.name.is_(None))).scalars())


def add_named(connection: Connection, token: NamedToken) -> None:
    """Add a named token. The name of an expired one can be reused; that of a valid one cannot."""
    namesake = next((old for old in named(connection) if old.name == token.name and old.revoked_at is None), None)
    if namesake is not None and namesake.is_valid(token.created_at):
        raise TokenExistsError(f"there is a token named {token.name!r}", hint="revoke it first, or choose another name")
    if namesake is not None:
        revoke(connection, token.name, token.created_at)
    connection.execute(
        insert(TOKENS).values(
            hash=token.hash,
            created_at=token.created_at,
            name=token.name,
            created_by=token.created_by,
            expires_at=token.expires_at,
        )
    )


def named(connection: Connection) -> Sequence[NamedToken]:
    """Return all named tokens, oldest first, including revoked ones."""
    query = select(TOKENS).where(TOKENS.c.name.is_not(None)).order_by(TOKENS.c.created_at, TOKENS.c.name)
    return [NamedToken(**row) for row in connection.execute(query).mappings()]


def revoke(connection: Connection, name: str, at: datetime) -> None:
    """Revoke a named token."""
    condition = (TOKENS.c.name == name) & TOKENS.c.revoked_at.is_(None)
    if connection.execute(update(TOKENS).where(condition).values(revoked_at=at)).rowcount == 0:
        raise TokenNotFoundError(f"there is no token named {name!r}", hint="arroyo token list shows them")


LEFT_SESSIONS = Table(
    "left_sessions",
    METADATA,
    Column("seal_hash", Text, primary_key=True),
    Column("until", Instant, nullable=False),
)


def revoke_session(connection: Connection, seal_hash: str, until: datetime, now: datetime) -> None:
    """Store an ended session, and delete those that have expired anyway."""
    connection.execute(delete(LEFT_SESSIONS).where(LEFT_SESSIONS.c.until <= now))
    row = {"seal_hash": seal_hash, "until": until}
    connection.execute(insert(LEFT_SESSIONS).values(row).on_conflict_do_nothing())


def read(connection: Connection) -> Mapping[str, datetime]:
    """Return until when each session must be remembered, by the hash of its seal."""
    return {row.seal_hash: row.until for row in connection.execute(select(LEFT_SESSIONS))}
