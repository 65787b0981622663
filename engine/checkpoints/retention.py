"""How many savepoints are kept."""

from __future__ import annotations

import shutil
from pathlib import Path

from engine.checkpoints.layout import StatePaths
from engine.checkpoints.savepoints import list_savepoints


def prune_savepoints(state: Path, keep: int) -> list[str]:
    """Delete all savepoints but the newest `keep`, and never the only one; the ids of those deleted."""
    deleted: list[str] = []
    for manifest in list_savepoints(state)[: -max(1, keep)]:
        remove_savepoint(StatePaths(state).savepoints / manifest.id)
        deleted.append(manifest.id)
    return deleted


def remove_savepoint(savepoint: Path) -> None:
    """Delete a savepoint. Its name goes first, so that half of one is never taken for a whole one."""
    doomed = savepoint.with_name(f".{savepoint.name}.gone")
    savepoint.rename(doomed)
    shutil.rmtree(doomed, ignore_errors=True)
