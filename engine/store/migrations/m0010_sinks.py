"""How far the output of each sink is complete."""

from __future__ import annotations

STATEMENTS = (
    "ALTER TABLE checkpoints ADD COLUMN sinks TEXT",
    "ALTER TABLE jobs ADD COLUMN sinks TEXT",
)
