"""Pipelines that read the input of another one again, and how far each is in taking its place."""

from __future__ import annotations

STATEMENTS = (
    """
    CREATE TABLE reprocessings (
        copy_id TEXT PRIMARY KEY REFERENCES pipelines (id) ON DELETE CASCADE,
        origin_id TEXT NOT NULL, step TEXT NOT NULL, since BIGINT NOT NULL, origin_version INTEGER,
        copy_version INTEGER, savepoint_id TEXT, new_version INTEGER, told TEXT, asked_by TEXT
    )
    """,
    "CREATE INDEX reprocessings_of ON reprocessings (origin_id)",
)
