"""Scratch folders next to a state, for building another state."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.checkpoints.layout import StatePaths

SCRATCH = "skeleton-"
"""Name of the scratch folders. They are below the logs, which no savepoint includes."""


@contextmanager
def scratch(paths: StatePaths) -> Iterator[Path]:
    """A new folder that is gone afterwards."""
    paths.logs.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=paths.logs) as folder:
        yield Path(folder)


def remove_scratch(paths: StatePaths) -> None:
    """Remove what a process has left that was killed in the middle; nobody else may be at work on the state."""
    for left in paths.logs.glob(f"{SCRATCH}*"):
        shutil.rmtree(left, ignore_errors=True)
