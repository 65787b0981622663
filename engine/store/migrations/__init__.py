"""Migrations of the database, step by step. A step that was released is never changed."""

from __future__ import annotations

from engine.store.migrations import m0001_to_m0019, m0020_to_m0041, m0042, m0043

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    *m0001_to_m0019.MIGRATIONS,
    *m0020_to_m0041.MIGRATIONS,
    *m0042.MIGRATIONS,
    *m0043.MIGRATIONS,
)
