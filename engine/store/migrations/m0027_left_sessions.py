"""Sessions of browsers that were left: their cookies let nobody in again, after a restart either."""

from __future__ import annotations

STATEMENTS = ("CREATE TABLE left_sessions (seal_hash TEXT PRIMARY KEY, until BIGINT NOT NULL)",)
