"""Putting files in front of readers: whole, once, and never over something else."""

from __future__ import annotations

import filecmp
from collections.abc import Callable
from pathlib import Path

from engine.delivery.durable import link, sync_directory, sync_file
from engine.errors import OutputChangedError


def publish(target: Path, build: Callable[[Path], object], *, generation: int = 0, decided_by: int = 0) -> None:
    """Have the file that `build` makes at `target`; one that is there already must be equal. Each generation has a
    draft of its own, since one that was replaced may still be at it; what those since `decided_by` left is removed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = _draft(target, generation)
    try:
        build(draft)
        sync_file(draft)
        link(draft, target)
    except FileExistsError:
        if not filecmp.cmp(draft, target, shallow=False):
            raise OutputChangedError(
                f"{target} is there already and has other contents",
                hint="it was changed, or another job writes to the same place; move it away and start again",
            ) from None
    finally:
        draft.unlink(missing_ok=True)
    for earlier in range(decided_by, generation):
        _draft(target, earlier).unlink(missing_ok=True)
    sync_directory(target.parent)


def _draft(target: Path, generation: int) -> Path:
    return target.with_name(f".{target.name}.{generation}.draft")


def withdraw(target: Path) -> None:
    """Take a published file away again; the directories of partitions stay."""
    target.unlink(missing_ok=True)
    if target.parent.is_dir():
        sync_directory(target.parent)
