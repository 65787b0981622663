"""The runs of OpenLineage that have asked for deployments."""

from __future__ import annotations

STATEMENTS = (
    """
    CREATE TABLE asking_runs (
        job_id TEXT NOT NULL, asked_at BIGINT NOT NULL, namespace TEXT, name TEXT, run_id TEXT,
        PRIMARY KEY (job_id, asked_at)
    )
    """,
)
