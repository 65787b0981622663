"""What DAG runs rely on that have passed a gate."""

from __future__ import annotations

STATEMENTS = (
    """
    CREATE TABLE certificates (
        id TEXT PRIMARY KEY, pipeline_id TEXT NOT NULL REFERENCES pipelines (id) ON DELETE CASCADE, version INTEGER,
        lineage TEXT, epoch BIGINT, past BIGINT NOT NULL, complete_until BIGINT NOT NULL, sink TEXT,
        by_time TEXT NOT NULL, dag_id TEXT NOT NULL, run_id TEXT NOT NULL, at BIGINT NOT NULL, voided_at BIGINT
    )
    """,
    "CREATE INDEX certificates_by_pipeline ON certificates (pipeline_id)",
)
