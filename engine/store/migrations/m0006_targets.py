"""Where each version writes. Those that are there already are read by the next control plane that starts."""

from __future__ import annotations

STATEMENTS = (
    """
    CREATE TABLE targets (
        pipeline_id TEXT NOT NULL, version INTEGER NOT NULL, target TEXT NOT NULL,
        PRIMARY KEY (pipeline_id, version, target)
    )
    """,
    "INSERT INTO targets SELECT id, version, '?' FROM pipelines",
)
