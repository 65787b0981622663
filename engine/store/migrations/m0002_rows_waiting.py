"""How much a source had not read yet."""

from __future__ import annotations

STATEMENTS = ("ALTER TABLE checkpoints ADD COLUMN rows_waiting BIGINT",)
