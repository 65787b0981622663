"""What an epoch has done with each table, its phases; and what jobs have done in all."""

from __future__ import annotations

STATEMENTS = (
    "ALTER TABLE checkpoints ADD COLUMN tables TEXT",
    "ALTER TABLE checkpoints ADD COLUMN phases TEXT",
    "CREATE TABLE job_totals (job_id TEXT PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE, totals TEXT NOT NULL)",
)
