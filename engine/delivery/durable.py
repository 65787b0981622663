"""Write files that are complete or absent after a crash.

    write_synced     the content of the draft is on disk     after a crash: a draft that no code reads
    replace, link    the draft gets the file's name          readers see the old or the new file, complete
    sync_directory   the name is on disk                     the file survives a crash

Use `replace_durably` if the newest content counts, and `create_durably` if the first one counts: of two processes that
create a file at the same time, one learns that it was not the first.
"""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path

from engine.delivery.mirrored import append_changes

# What file systems answer that have no hard links, such as vfat and some that are mounted over a network.
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable; in a mirrored state directory also everything that has changed there."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    append_changes(directory)


def sync_file(path: Path) -> None:
    """Make the contents of a file durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_synced(path: Path, contents: bytes) -> None:
    """Write a file and make its contents durable, but not yet its name. If that fails, remove the file: incomplete
    drafts would keep a full disk full."""
    try:
        with path.open("wb") as file:
            file.write(contents)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        path.unlink(missing_ok=True)
        raise


def replace_durably(path: Path, contents: bytes) -> None:
    """Replace a file by `contents`: readers see the old or the new file, complete, also after a crash."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    write_synced(draft, contents)
    draft.replace(path)
    sync_directory(path.parent)


def link(draft: Path, target: Path) -> None:
    """Link a finished draft to its name; raise FileExistsError if the name is taken. A file system without links
    renames it, and two processes that do so at the same moment do not notice each other."""
    try:
        os.link(draft, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if target.exists():
            raise FileExistsError(target) from error
        os.replace(draft, target)  # noqa: PTH105 - beside os.link


def create_durably(path: Path, contents: bytes) -> bool:
    """Create a file with all of `contents`; return False if it exists already. Of several concurrent callers one
    succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    write_synced(draft, contents)
    try:
        link(draft, path)
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    sync_directory(path.parent)
    return True
