"""Migration 43. It is never changed."""

from __future__ import annotations

M0043_OPERATORS = ("ALTER TABLE checkpoints ADD COLUMN operators TEXT",)
"""Rows and busy time of each stateful operator in an epoch."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (M0043_OPERATORS,)
