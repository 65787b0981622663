"""Which version a savepoint belongs to, who has asked for it and why, and whether it waits for the job to stop."""

from __future__ import annotations

STATEMENTS = (
    "ALTER TABLE savepoints ADD COLUMN version INTEGER",
    "ALTER TABLE savepoints ADD COLUMN creator TEXT",
    "ALTER TABLE savepoints ADD COLUMN reason TEXT",
    "ALTER TABLE savepoints ADD COLUMN after_stop BOOLEAN NOT NULL DEFAULT 0",
)
