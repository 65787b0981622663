"""Which history of the state an epoch, and how far a job has come, belong to."""

from __future__ import annotations

STATEMENTS = (
    "ALTER TABLE checkpoints ADD COLUMN lineage TEXT",
    "ALTER TABLE jobs ADD COLUMN lineage TEXT",
)
