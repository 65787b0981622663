"""Which event of Airflow's a push has made last, and that one which is off is remembered."""

from __future__ import annotations

STATEMENTS = (
    "ALTER TABLE partition_pushes ADD COLUMN newest BIGINT",
    "ALTER TABLE partition_pushes ADD COLUMN is_off BOOLEAN NOT NULL DEFAULT 0",
)
