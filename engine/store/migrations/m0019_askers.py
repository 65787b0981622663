"""Who has asked last for something else of a pipeline: events name the one whose wish the control plane carries out."""

from __future__ import annotations

STATEMENTS = ("ALTER TABLE pipelines ADD COLUMN asked_by TEXT",)
