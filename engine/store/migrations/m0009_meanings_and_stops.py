"""What a version means, whatever its text looks like, and who has asked for a stop."""

from __future__ import annotations

STATEMENTS = (
    "ALTER TABLE versions ADD COLUMN meaning TEXT",
    "ALTER TABLE pipelines ADD COLUMN stopped_by TEXT",
    "ALTER TABLE pipelines ADD COLUMN stopped_at BIGINT",
)
