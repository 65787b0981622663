"""Replace a state by another one atomically, even if the process crashes.

    staging/checkpoint, staging/lineage.json         after a crash here: the old state, and the next swap starts over
    rename staging to incoming                       the decision
    checkpoint          -> replaced/000003/checkpoint  after a crash from here on, opening the state completes the moves
    incoming/checkpoint -> checkpoint
    lineage.json        -> replaced/000003/lineage.json
    incoming/lineage.json -> lineage.json
    remove incoming                                  the new state

`incoming/aside` names the folder below `replaced`, so that completing a swap after a crash uses the same folder. See
docs/decisions/states-are-swapped-whole.md.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from engine.checkpoints.fault_points import StatePoint
from engine.checkpoints.layout import StatePaths, read_text, write_text
from engine.delivery.durable import sync_directory
from engine.delivery.faults import reach

_MARKER = "aside"

KEPT = 2
"""Number of replaced states to retain. They share most of their files with savepoints and with each other."""


def begin_swap(paths: StatePaths) -> Path:
    """An empty folder to make the new parts in: files and folders named as in the state directory."""
    finish_swap(paths)
    staging = paths.root / "staging"
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    return staging


def commit_swap(paths: StatePaths) -> None:
    """Decide for the new parts and put them in place."""
    staging = paths.root / "staging"
    for folder in (staging, *(path for path in staging.rglob("*") if path.is_dir())):
        sync_directory(folder)
    reach(StatePoint.BEFORE_SWAP)
    staging.rename(_incoming(paths))
    sync_directory(paths.root)
    reach(StatePoint.AFTER_SWAP_DECISION)
    finish_swap(paths)
    reach(StatePoint.AFTER_SWAP)


def is_swapping(paths: StatePaths) -> bool:
    """Whether a swap was decided and is not finished."""
    return _incoming(paths).exists()


def finish_swap(paths: StatePaths) -> None:
    """Finish what was decided, if anything. Doing it again after a crash, at whatever point, comes to the same."""
    incoming = _incoming(paths)
    if not incoming.exists():
        return
    aside = _newest_aside(paths)
    for part in sorted(path for path in incoming.iterdir() if path.name != _MARKER):
        target = paths.root / part.name
        # Not there when a crash came between these two renames: the old part is aside already.
        if target.exists():
            target.rename(aside / part.name)
            reach(StatePoint.WHILE_SWAPPING)
        part.rename(target)
    (incoming / _MARKER).unlink()
    incoming.rmdir()
    sync_directory(paths.root)
    for old in asides(paths)[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def _newest_aside(paths: StatePaths) -> Path:
    """Return the folder for the old parts: the one of an unfinished swap, which its marker names, or a new one."""
    marker = _incoming(paths) / _MARKER
    if marker.exists():
        return paths.root / "replaced" / read_text(marker)
    older = asides(paths)
    number = int(older[-1].name) + 1 if older else 1
    aside = paths.root / "replaced" / f"{number:06}"
    aside.mkdir(parents=True)
    write_text(marker, aside.name)
    return aside


def asides(paths: StatePaths) -> list[Path]:
    """Return the folders of replaced states, oldest first."""
    folder = paths.root / "replaced"
    return sorted(path for path in folder.iterdir() if path.name.isdigit()) if folder.is_dir() else []


def _incoming(paths: StatePaths) -> Path:
    return paths.root / "incoming"
