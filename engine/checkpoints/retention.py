"""How many savepoints are kept."""

from __future__ import annotations

import shutil
from pathlib import Path

from engine.checkpoints.layout import StatePaths
from engine.checkpoints.savepoints import listed


def prune_savepoints(state: Path, keep: int) -> list[str]:
    """Delete the oldest savepoints but for the newest `keep`, and never the only one; the ids that are gone."""
    gone: list[str] = []
    for manifest in listed(state)[: -max(1, keep)]:
        remove_savepoint(StatePaths(state).savepoints / manifest.id)
        gone.append(manifest.id)
    return gone


def remove_savepoint(savepoint: Path) -> None:
    """Delete a savepoint. Its name goes first, so that half of one is never taken for a whole one."""
    doomed = savepoint.with_name(f".{savepoint.name}.gone")
    savepoint.rename(doomed)
    shutil.rmtree(doomed, ignore_errors=True)
