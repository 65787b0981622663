"""Writing files so that they survive a crash whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_file(path: Path) -> None:
    """Make the contents of a file durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_synced(path: Path, contents: bytes) -> None:
    """Write a file and make its contents durable; its name is not yet."""
    with path.open("wb") as file:
        file.write(contents)
        file.flush()
        os.fsync(file.fileno())


def replace_durably(path: Path, contents: bytes) -> None:
    """Put `contents` in the place of a file: readers see the old or the new, whole, also after a crash."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    write_synced(draft, contents)
    draft.replace(path)
    sync_directory(path.parent)


def create_durably(path: Path, contents: bytes) -> bool:
    """Create a file with `contents`, whole; False when there is one already. Of several, one succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    write_synced(draft, contents)
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    sync_directory(path.parent)
    return True
