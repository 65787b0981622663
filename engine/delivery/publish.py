"""Publish files: complete, once, and without overwriting.

Generation 3 publishes us/7-x.json, which it has decided, and pauses before step 3:

    1  build us/.7-x.json.3.draft of the segments, and sync it
    2  check the fence
    3  link the draft to us/7-x.json, which must be free or have the same bytes
    4  remove the draft

Meanwhile generation 4 restores an older savepoint and withdraws the file: first the drafts of all generations since 3,
then the file. When generation 3 resumes, its draft is gone and step 3 fails. Had it resumed earlier, the file would
have existed and been removed. See docs/decisions/files-are-built-of-segments.md.
"""

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
    """Move the file that `build` writes to `target`; an existing file must be equal. Each generation has a draft of its
    own, since a run that was replaced may still be writing; drafts of the generations since `decided_by` are removed.
    `check` runs after the draft is written and may raise: a later withdrawal of the file finds the draft."""
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
                f"{target} already exists with other contents",
                hint="it was changed, or another job writes to the same directory; move it away and start again",
            ) from None
    finally:
        draft.unlink(missing_ok=True)
    _remove_drafts(target, decided_by, generation)
    sync_directory(target.parent)


def withdraw(target: Path, *, generation: int = 0, decided_by: int = 0) -> None:
    """Remove a published file; the directories of partitions stay. First the drafts of the generations since
    `decided_by` are removed, so that none of those runs can publish the file afterwards."""
    _remove_drafts(target, decided_by, generation)
    target.unlink(missing_ok=True)
    if target.parent.is_dir():
        sync_directory(target.parent)


def _remove_drafts(target: Path, first: int, end: int) -> None:
    for generation in range(first, end):
        _draft(target, generation).unlink(missing_ok=True)


def _draft(target: Path, generation: int) -> Path:
    return target.with_name(f".{target.name}.{generation}.draft")
