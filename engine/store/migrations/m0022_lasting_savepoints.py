"""What is known of a savepoint after it was taken, and what a pipeline's savepoints are kept and taken by."""

from __future__ import annotations

STATEMENTS = (
    "ALTER TABLE savepoints ADD COLUMN pinned BOOLEAN NOT NULL DEFAULT 0",
    "ALTER TABLE savepoints ADD COLUMN verified_at BIGINT",
    "ALTER TABLE savepoints ADD COLUMN proven_at BIGINT",
    "ALTER TABLE savepoints ADD COLUMN damage TEXT",
    """
    CREATE TABLE savepoint_rules (
        pipeline_id TEXT PRIMARY KEY REFERENCES pipelines (id) ON DELETE CASCADE,
        retention TEXT, schedule TEXT, due_at BIGINT, last_at BIGINT, last_outcome TEXT
    )
    """,
)
