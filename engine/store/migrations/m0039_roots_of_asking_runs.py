"""What the runs of OpenLineage are a part of that have asked for what jobs do."""

from __future__ import annotations

STATEMENTS = (
    "ALTER TABLE asking_runs ADD COLUMN root_namespace TEXT",
    "ALTER TABLE asking_runs ADD COLUMN root_name TEXT",
    "ALTER TABLE asking_runs ADD COLUMN root_run_id TEXT",
)
