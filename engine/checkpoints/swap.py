"""Putting another state in the place of the one there is, in one step that a crash cannot split.

The new parts are made in `staging`. Renaming that to `incoming` is the decision: from then on every opener of the state
moves the parts to their places, whoever began. The old parts are kept in `replaced`.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from engine.checkpoints.layout import StatePaths, read_text, write_text
from engine.delivery.durable import sync_directory

_MARKER = "aside"

KEPT = 2
"""How many replaced states are kept: they share most of their files with savepoints and with each other."""


def begin_swap(paths: StatePaths) -> Path:
    """An empty place to make the new parts in: files and folders named as in the state directory."""
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
    staging.rename(_incoming(paths))
    sync_directory(paths.root)
    finish_swap(paths)


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
        place = paths.root / part.name
        if place.exists():
            place.rename(aside / part.name)
        part.rename(place)
    (incoming / _MARKER).unlink()
    incoming.rmdir()
    sync_directory(paths.root)
    for old in _asides(paths)[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def _newest_aside(paths: StatePaths) -> Path:
    """Where the old parts go: the folder that an unfinished swap began, which its marker shows, or a new one."""
    marker = _incoming(paths) / _MARKER
    if marker.exists():
        return paths.root / "replaced" / read_text(marker)
    asides = _asides(paths)
    number = int(asides[-1].name) + 1 if asides else 1
    aside = paths.root / "replaced" / f"{number:06}"
    aside.mkdir(parents=True)
    write_text(marker, aside.name)
    return aside


def _asides(paths: StatePaths) -> list[Path]:
    folder = paths.root / "replaced"
    return sorted(path for path in folder.iterdir() if path.name.isdigit()) if folder.is_dir() else []


def _incoming(paths: StatePaths) -> Path:
    return paths.root / "incoming"
