"""Translate disk errors (full, read-only, I/O) to errors that name the path."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.delivery.epoch import Epoch
from engine.delivery.fence import check_fence
from engine.delivery.outbox import task_path
from engine.errors import DiskFullError, UnreadableSegmentError, UnwritableTargetError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_LITTLE = 1 << 20
"""Free bytes below which Java's logs and scratch space fail, so that an epoch can end without an error message."""


def is_disk_full(error: OSError) -> bool:
    """Whether the error is that the disk is full."""
    return error.errno in _FULL


def has_no_room(path: Path) -> bool:
    """Whether a disk has no room for one more small file; False if that is unknown."""
    try:
        usage = os.statvfs(next(place for place in (path, *path.parents) if place.exists()))
    except OSError:
        return False
    # a file system without a table of files says that it has 0
    return usage.f_bavail * usage.f_frsize < _LITTLE or (usage.f_files > 0 and usage.f_favail == 0)


def unwritable(path: Path, error: OSError) -> UnwritableTargetError:
    """Return the error for a target that the process cannot write."""
    if is_disk_full(error):
        return DiskFullError(
            f"{path} cannot be written: {error.strerror or error}", hint="free space on the disk; nothing is lost"
        )
    return UnwritableTargetError(
        f"{path} cannot be written: {error.strerror or error}",
        hint="check the option 'path', the permissions and the disk",
    )


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError in the context into the error for that path."""
    try:
        yield
    except OSError as error:
        raise unwritable(path, error) from error


def probe_directory(path: Path) -> None:
    """Raise if no file can be created in a directory, or in its first existing parent; leave no file behind."""
    with writing(path):
        existing = next(place for place in (path, *path.parents) if place.exists())
        draft = existing / f".probe-{secrets.token_hex(4)}"
        draft.touch(exist_ok=False)
        draft.unlink()


@contextmanager
def staging(directory: Path, epoch: Epoch) -> Iterator[None]:
    """Report a failed write to the sink's own directory. If a newer run has cleaned up there, the error is that this
    run was replaced."""
    try:
        yield
    except UnreadableSegmentError:
        check_fence(directory, epoch)
        raise
    except OSError as error:
        check_fence(directory, epoch)
        raise unwritable(task_path(directory), error) from error
