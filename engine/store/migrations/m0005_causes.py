"""What is behind a failure, how often a job was started again, and what the start of a run is at."""

from __future__ import annotations

STATEMENTS = (
    "ALTER TABLE jobs ADD COLUMN failure_cause TEXT",
    "ALTER TABLE jobs ADD COLUMN outages INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE jobs ADD COLUMN restarts INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE jobs ADD COLUMN restart_code TEXT",
    "ALTER TABLE runs ADD COLUMN failure_cause TEXT",
    "ALTER TABLE runs ADD COLUMN step TEXT",
)
