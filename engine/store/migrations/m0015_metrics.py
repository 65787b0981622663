"""What an epoch has done with each table, its phases and the size of its state; and what jobs have done in all."""

from __future__ import annotations

STATEMENTS = (
    "ALTER TABLE checkpoints ADD COLUMN tables TEXT",
    "ALTER TABLE checkpoints ADD COLUMN phases TEXT",
    "ALTER TABLE checkpoints ADD COLUMN state_rows BIGINT",
    "CREATE TABLE job_totals (job_id TEXT PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE, totals TEXT NOT NULL)",
)
