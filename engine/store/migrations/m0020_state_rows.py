"""How many rows an epoch leaves in the state, where they are counted."""

from __future__ import annotations

STATEMENTS = ("ALTER TABLE checkpoints ADD COLUMN state_rows TEXT",)
