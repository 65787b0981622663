"""When a job failed of unknown causes: a budget of a window needs more than a count."""

from __future__ import annotations

STATEMENTS = ("ALTER TABLE jobs ADD COLUMN failure_times TEXT",)
