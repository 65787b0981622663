"""Pipelines that go to another control plane, and that have come from one."""

from __future__ import annotations

STATEMENTS = (
    """
    CREATE TABLE moves (
        pipeline_id TEXT PRIMARY KEY REFERENCES pipelines (id) ON DELETE CASCADE,
        move TEXT NOT NULL, step TEXT NOT NULL, place TEXT NOT NULL, peer TEXT NOT NULL,
        runs BOOLEAN NOT NULL, key TEXT NOT NULL, committed BIGINT, planned BIGINT, began_at BIGINT NOT NULL
    )
    """,
)
