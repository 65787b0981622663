"""Files on the disk of the driver that tasks read: in place, or as copies where a worker sees another disk.

    a worker of the driver's machine     reads /data/shops.csv
    a worker that sees another disk      asks the mailbox of the driver, and reads <its own directory>/0-shops.csv

A copy is reused while size and time of the file are the same. Only paths that the script's tables read are served.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TypeAlias

from engine.delivery.outbox import current_outbox, is_remote, scratch_directory

_MOST_COPIES = 16


def readable(path: Path) -> Path:
    """Return the path at which this process reads a file that is at `path` on the driver's disk."""
    if not is_remote():
        return path
    return copies().of(str(path), path.name, lambda known, write: current_outbox().client.read(str(path), known, write))


def listed_by_driver(path: Path, pattern: str | None) -> list[tuple[int, str, int]] | None:
    """Return the time, name and size of each file in a directory of the driver's disk; None if this process sees that
    disk itself."""
    return current_outbox().client.list_files(str(path), pattern) if is_remote() else None


@dataclass(frozen=True, slots=True)
class _Copy:
    path: Path
    version: str


Fetch: TypeAlias = Callable[[str | None, Callable[[memoryview], object]], str]
"""Returns the version of a file. Unless it is the known one, passes on the content; after an empty chunk it begins
anew."""


@dataclass(slots=True)
class Copies:
    """The copies of a process; the one that was used last is the last."""

    folder: Path
    pid: int = field(default_factory=os.getpid)
    _copies: dict[str, _Copy] = field(default_factory=dict)
    _numbers: count[int] = field(default_factory=count)

    def of(self, key: str, name: str, fetch: Fetch) -> Path:
        """Return an up-to-date copy of the file that is known as `key`."""
        before = self._copies.pop(key, None)
        # the end of the name says how it is compressed
        target = self.folder / f"{next(self._numbers)}-{name}"
        with target.open("wb") as file:

            def write(chunk: memoryview) -> None:
                if chunk:
                    file.write(chunk)
                else:
                    file.seek(0)
                    file.truncate()

            version = fetch(None if before is None else before.version, write)
        if before is not None and before.version == version:
            target.unlink()
            target = before.path
        elif before is not None:
            before.path.unlink()
        self._copies[key] = _Copy(target, version)
        while len(self._copies) > _MOST_COPIES:
            self._copies.pop(next(iter(self._copies))).path.unlink()
        return target


_current: Copies | None = None


def copies() -> Copies:
    """Return the copies of this process. A child process has its own."""
    global _current  # noqa: PLW0603 - a worker keeps its copies from task to task
    if _current is None or _current.pid != os.getpid():
        _current = Copies(scratch_directory("inputs-"))
    return _current
