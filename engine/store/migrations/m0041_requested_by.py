"""On whose behalf a token asked for what an event tells, such as an Airflow task."""

from __future__ import annotations

STATEMENTS = ("ALTER TABLE notes ADD COLUMN requested_by TEXT",)
