"""Pipelines that are previews, and until when each is kept."""

from __future__ import annotations

STATEMENTS = (
    """
    CREATE TABLE previews (
        pipeline_id TEXT PRIMARY KEY REFERENCES pipelines (id) ON DELETE CASCADE, until BIGINT NOT NULL
    )
    """,
)
