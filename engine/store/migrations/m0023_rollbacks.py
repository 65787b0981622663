"""The savepoint that is taken of a state before another one takes its place, and the pipeline that this one is of."""

from __future__ import annotations

STATEMENTS = (
    "ALTER TABLE pipelines ADD COLUMN restore_save_as TEXT",
    "ALTER TABLE pipelines ADD COLUMN restore_of_pipeline TEXT",
)
