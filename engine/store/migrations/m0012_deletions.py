"""Pipelines that are deleted, and whose directories are still to go."""

from __future__ import annotations

STATEMENTS = ("CREATE TABLE deletions (pipeline_id TEXT PRIMARY KEY, asked_at BIGINT NOT NULL)",)
