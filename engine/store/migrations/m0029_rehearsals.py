"""Rehearsals of new queries, and what came of them."""

from __future__ import annotations

STATEMENTS = (
    """
    CREATE TABLE rehearsals (
        id TEXT PRIMARY KEY, pipeline_id TEXT NOT NULL REFERENCES pipelines (id) ON DELETE CASCADE,
        state TEXT NOT NULL, change TEXT NOT NULL, plan_id TEXT NOT NULL, version INTEGER, savepoint_id TEXT,
        creator TEXT, created_at BIGINT NOT NULL, time_limit BIGINT NOT NULL, started_at BIGINT, ended_at BIGINT,
        report TEXT, shown TEXT, code TEXT, message TEXT, hint TEXT
    )
    """,
    "CREATE INDEX rehearsals_of ON rehearsals (pipeline_id)",
    "CREATE INDEX rehearsals_open ON rehearsals (state) WHERE state IN ('waiting', 'running')",
)
