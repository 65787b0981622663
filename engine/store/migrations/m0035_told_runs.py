"""What OpenLineage was told of the runs of jobs. Rows outlive pipelines: the end of a run is told all the same."""

from __future__ import annotations

STATEMENTS = (
    """
    CREATE TABLE told_runs (
        job_id TEXT PRIMARY KEY, pipeline_id TEXT NOT NULL, name TEXT NOT NULL, generation INTEGER NOT NULL,
        version INTEGER NOT NULL, launched_at BIGINT NOT NULL, stage TEXT NOT NULL, epoch BIGINT, told_at BIGINT,
        certificate BIGINT NOT NULL, certificate_at BIGINT
    )
    """,
    "CREATE INDEX told_runs_by_pipeline ON told_runs (pipeline_id)",
)
