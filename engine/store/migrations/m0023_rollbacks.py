"""The savepoint that is taken of a state before another one takes its place."""

from __future__ import annotations

STATEMENTS = ("ALTER TABLE pipelines ADD COLUMN restore_save_as TEXT",)
