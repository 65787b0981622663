"""Who has asked last for something else of a pipeline: events about what the control plane then does name them."""

from __future__ import annotations

STATEMENTS = ("ALTER TABLE pipelines ADD COLUMN asked_by TEXT",)
