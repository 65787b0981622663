"""How a version takes over the state of the one before it, and the savepoint that is taken for it."""

from __future__ import annotations

STATEMENTS = (
    "ALTER TABLE versions ADD COLUMN upgrade TEXT",
    "ALTER TABLE savepoints ADD COLUMN before_version INTEGER",
)
