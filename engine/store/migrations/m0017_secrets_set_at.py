"""When each secret of a pipeline was set; of those that are there already nobody knows."""

from __future__ import annotations

STATEMENTS = ("ALTER TABLE secrets ADD COLUMN set_at BIGINT",)
