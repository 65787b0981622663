"""Scratch directories with a lock, so that the directories of killed processes can be removed.

rehearsals/3f0c/       of a running process
rehearsals/3f0c.lock   locked by it, so that no other process removes the directory
rehearsals/88aa/       of a killed process: removed when the next one begins
rehearsals/88aa.lock
"""

from __future__ import annotations

import fcntl
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def scratch_directory(parent: Path) -> Iterator[Path]:
    """A new directory below `parent`, which goes in the end; so do those that killed processes have left there."""
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    sweep(parent)
    handle, directory = _take(parent)
    try:
        directory.mkdir(mode=0o700)
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        _lock_of(directory).unlink(missing_ok=True)
        os.close(handle)


def sweep(parent: Path) -> int:
    """Remove what killed processes have left below `parent`; how many directories that were."""
    removed = 0
    for lock in sorted(parent.glob("*.lock")):
        handle = _try_lock(lock)
        if handle is None:
            continue
        directory = lock.with_suffix("")
        removed += directory.is_dir()
        shutil.rmtree(directory, ignore_errors=True)
        if not directory.exists():
            lock.unlink(missing_ok=True)
        os.close(handle)
    return removed


def _take(parent: Path) -> tuple[int, Path]:
    while True:
        directory = parent / uuid.uuid4().hex[:12]
        lock = _lock_of(directory)
        lock.touch(mode=0o600)
        # somebody who sweeps may have come between
        if (handle := _try_lock(lock)) is not None:
            return handle, directory


def _lock_of(directory: Path) -> Path:
    return directory.with_name(f"{directory.name}.lock")


def _try_lock(path: Path) -> int | None:
    """A handle that holds the lock; None where another process has it, or the file is gone."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    with suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(handle), path.stat()):
            return handle
    os.close(handle)
    return None
