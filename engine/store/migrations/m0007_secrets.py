"""The secrets that pipelines are deployed with, sealed."""

from __future__ import annotations

STATEMENTS = (
    """
    CREATE TABLE secrets (
        pipeline_id TEXT NOT NULL REFERENCES pipelines (id) ON DELETE CASCADE, name TEXT NOT NULL,
        sealed BLOB NOT NULL, PRIMARY KEY (pipeline_id, name)
    )
    """,
)
