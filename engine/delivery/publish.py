"""Putting files in front of readers: whole, once, and never over something else."""

from __future__ import annotations

import filecmp
from collections.abc import Callable
from pathlib import Path

from engine.delivery.durable import link, sync_directory, sync_file
from engine.errors import OutputChangedError


def publish(
    target: Path,
    build: Callable[[Path], object],
    *,
    generation: int = 0,
    decided_by: int = 0,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Have the file that `build` makes at `target`; one that is there already must be equal. Each generation has a
    draft of its own, since one that was replaced may still be at it; what those since `decided_by` left is removed.
    With the draft made, `check` may still raise: whoever withdraws the file from then on removes the draft first."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = _draft(target, generation)
    try:
        build(draft)
        sync_file(draft)
        check()
        link(draft, target)
    except FileExistsError:
        if not filecmp.cmp(draft, target, shallow=False):
            raise OutputChangedError(
                f"{target} is there already and has other contents",
                hint="it was changed, or another job writes to the same place; move it away and start again",
            ) from None
    finally:
        draft.unlink(missing_ok=True)
    _remove_drafts(target, decided_by, generation)
    sync_directory(target.parent)


def withdraw(target: Path, *, generation: int = 0, decided_by: int = 0) -> None:
    """Take a published file away again; the directories of partitions stay. Those who may still be about to publish it,
    the generations since `decided_by`, lose their drafts before that, and so cannot do it afterwards."""
    _remove_drafts(target, decided_by, generation)
    target.unlink(missing_ok=True)
    if target.parent.is_dir():
        sync_directory(target.parent)


def _remove_drafts(target: Path, first: int, end: int) -> None:
    for generation in range(first, end):
        _draft(target, generation).unlink(missing_ok=True)


def _draft(target: Path, generation: int) -> Path:
    return target.with_name(f".{target.name}.{generation}.draft")
