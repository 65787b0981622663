"""Tokens with a name and an end, and who asked for what."""

from __future__ import annotations

STATEMENTS = (
    "ALTER TABLE tokens ADD COLUMN name TEXT",
    "ALTER TABLE tokens ADD COLUMN created_by TEXT",
    "ALTER TABLE tokens ADD COLUMN expires_at BIGINT",
    "ALTER TABLE tokens ADD COLUMN revoked_at BIGINT",
    "CREATE UNIQUE INDEX tokens_by_name ON tokens (name) WHERE revoked_at IS NULL",
    "ALTER TABLE notes ADD COLUMN who TEXT",
)
