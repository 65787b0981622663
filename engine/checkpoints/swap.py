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
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

from engine.checkpoints.layout import StatePaths, read_text, write_text
from engine.delivery.durable import sync_directory
from engine.delivery.faults import reach

_MARKER = "aside"

KEPT = 2
"""Number of replaced states to retain. They share most of their files with savepoints and with each other."""


def begin_swap(paths: StatePaths) -> Path:
    """Return an empty folder for the new parts: files and folders named as in the state directory."""
    finish_swap(paths)
    staging = paths.root / "staging"
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    return staging


def commit_swap(paths: StatePaths) -> None:
    """Record the decision for the new parts and move them into place."""
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
    """Finish a swap that was decided, if there is one. After a crash at any point, another call completes it."""
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


class StatePoint(StrEnum):
    """Fault points of taking a savepoint, and of swapping states, in their order."""

    WHILE_COPYING = "while_copying"
    """The files of a savepoint are copied, and its manifest is missing."""
    AFTER_COPYING = "after_copying"
    """The savepoint has its name, and has not been reported."""
    AFTER_SKELETON = "after_skeleton"
    """The empty checkpoint of the query that takes over a state is in scratch."""
    WHILE_BUILDING = "while_building"
    """A part of the new state is built, next to the old one."""
    BEFORE_SWAP = "before_swap"
    """The new state is complete, next to the old one."""
    AFTER_SWAP_DECISION = "after_swap_decision"
    """The swap is decided, and the old state is still in place."""
    WHILE_SWAPPING = "while_swapping"
    """An old part is moved away, and its new part is not in place."""
    AFTER_SWAP = "after_swap"
    """The new state is in place."""


class StateMovePoint(StrEnum):
    """A place in the move of an operator state to or from a bucket, in their order."""

    AFTER_PREFIX = "after_prefix"
    """The new prefix is recorded, and nothing is there."""
    AFTER_UPLOAD = "after_upload"
    """The state is in both places, and the pointer is not written."""
    AFTER_POINTER = "after_pointer"
    """The pointer is written, and the local files are still there."""
    AFTER_DOWNLOAD = "after_download"
    """The state is in both places, and the pointer is still there."""
    AFTER_POINTER_REMOVED = "after_pointer_removed"
    """The state is on this disk, and the prefix is not swept."""


class MovePoint(StrEnum):
    """Fault points of exporting and importing a savepoint, in their order."""

    WHILE_EXPORTING = "while_exporting"
    """All files are exported, and the manifest is missing."""
    AFTER_EXPORT = "after_export"
    """The export is complete, and has not been reported."""
    WHILE_IMPORTING = "while_importing"
    """All files are imported, and the manifest and the final name are missing."""
    AFTER_IMPORT = "after_import"
    """The savepoint has its name, and is not in the database."""


SCRATCH = "skeleton-"
"""Name of the scratch folders. They are below the logs, which no savepoint includes."""


@contextmanager
def scratch(paths: StatePaths) -> Iterator[Path]:
    """Create a folder that is removed at the end of the context."""
    paths.logs.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=paths.logs) as folder:
        yield Path(folder)


def remove_scratch(paths: StatePaths) -> None:
    """Remove the scratch folders of killed processes; no run may be active on the state."""
    for left in paths.logs.glob(f"{SCRATCH}*"):
        shutil.rmtree(left, ignore_errors=True)
