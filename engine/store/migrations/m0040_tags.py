"""Tags of pipelines, by which a list is filtered."""

from __future__ import annotations

STATEMENTS = ("ALTER TABLE pipelines ADD COLUMN tags TEXT",)
