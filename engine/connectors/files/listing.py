"""List the files of a directory in a stable order, with positions in that order.

    a (10 bytes), b (20), c (30)
    {"file": "b", "seen": 2, "bytes": 30, "at": 5}     after 5 bytes of b; the 2 files up to it have 30 bytes
    {"file": "c", "seen": 3, "bytes": 60}              after the end of c
    range between them: b from byte 5, and all of c

A position contains the number and total size of the files up to it. So a file in a range that was added, changed or
removed later is detected instead of being read wrongly.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.connectors.base import Position
from engine.connectors.text_files import missing_file
from engine.delivery.driver_files import listed_by_driver
from engine.errors import FilesChangedError, UnreadableFileError


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """Sort key of a file; `time` is 0 if only names count."""

    time: int
    name: str


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of the directory; its name is relative to the directory."""

    key: Key
    size: int


@dataclass(frozen=True, slots=True)
class FilePosition:
    """Position in the file `key`, after `at` bytes or rows, or after its end; `seen` and `bytes` count the files up to
    and including it. Before the first file there is no key."""

    key: Key | None = None
    at: int = 0
    is_done: bool = True
    seen: int = 0
    bytes: int = 0

    @property
    def place(self) -> tuple[int, str, bool, int, int]:
        """Return the sort key of positions. `bytes` sorts those within a file that has grown."""
        key = self.key or Key(-1, "")
        return key.time, key.name, self.is_done, self.at, self.bytes

    def enter(self, file: ListedFile) -> FilePosition:
        """Return the position at the beginning of the next file."""
        return FilePosition(file.key, 0, False, self.seen + 1, self.bytes + file.size)

    def leave(self) -> FilePosition:
        """Return the position after the end of this file."""
        return FilePosition(self.key, 0, True, self.seen, self.bytes)

    def move(self, at: int) -> FilePosition:
        """Return a later position in this file."""
        return FilePosition(self.key, at, False, self.seen, self.bytes)


@dataclass(frozen=True, slots=True)
class FileRange:
    """Part of one file, between two bytes or rows; None means the file's end."""

    name: str
    start: int
    end: int | None
    size: int
    """Size of the whole file."""
    weight: int
    """Approximate number of bytes to read."""


def list_files(root: Path, pattern: str | None, *, by_time: bool) -> list[ListedFile]:
    """Return the files below a directory, or the file itself. Names that begin with a dot or an underscore are drafts
    and notes, and are skipped."""
    if root.is_file():
        status = root.stat()
        return [ListedFile(Key(status.st_mtime_ns if by_time else 0, ""), status.st_size)]
    if not root.is_dir():
        raise missing_file(root)
    expression = re.compile(pattern or "")
    files = []
    for path in _walk(root):
        name = path.relative_to(root).as_posix()
        listed = _status_of(path) if expression.search(name) else None
        if listed is not None:
            files.append(ListedFile(Key(listed.st_mtime_ns if by_time else 0, name), listed.st_size))
    return sorted(files, key=lambda file: file.key)


def list_for_task(root: Path, pattern: str | None) -> list[ListedFile]:
    """Return the files below a directory of the driver's disk by time, also to a task that sees another disk."""
    listed = listed_by_driver(root, pattern)
    if listed is None:
        return list_files(root, pattern, by_time=True)
    return [ListedFile(Key(time, name), size) for time, name, size in listed]


def _status_of(path: Path) -> os.stat_result | None:
    """Return the status of a file; None if it was removed meanwhile."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def ranges_between(files: Sequence[ListedFile], start: FilePosition, end: FilePosition) -> list[FileRange]:
    """Return the file ranges between two positions. Raise if the files differ from those that were listed before."""
    if end.key is None:
        return []
    whole = _between(files, start, end, end.key)
    ranges = (_range_of(file, start, end) for file in (*_begun(files, start), *whole))
    return [part for part in ranges if part.end is None or part.end > part.start]


def _begun(files: Sequence[ListedFile], start: FilePosition) -> list[ListedFile]:
    """Return the file that was read in part, if there is one."""
    if start.key is None or start.is_done:
        return []
    current = [file for file in files if file.key == start.key]
    if not current:
        raise FilesChangedError(f"the file {start.key.name!r} was read in part and is gone", hint="put it back")
    return current


def _between(files: Sequence[ListedFile], start: FilePosition, end: FilePosition, last: Key) -> list[ListedFile]:
    """Return the files after the one of `start`. Their number and sizes must be the same as when the epoch was
    planned."""
    within = [file for file in files if (start.key is None or file.key > start.key) and file.key <= last]
    count, size = end.seen - start.seen, end.bytes - start.bytes
    size_now = sum(file.size for file in within)
    if (len(within), size_now) != (count, size):
        raise FilesChangedError(
            f"{count} files of {size} bytes were planned to be read up to {last.name!r}, "
            f"and now there are {len(within)} of {size_now} bytes",
            hint="files must not change while a job reads them: put them back, or start with a new state directory",
        )
    return within


def _range_of(file: ListedFile, start: FilePosition, end: FilePosition) -> FileRange:
    """Return the range of a file to read."""
    first = start.at if file.key == start.key else 0
    last = end.at if file.key == end.key and not end.is_done else None
    return FileRange(file.key.name, first, last, file.size, file.size)


def to_position(position: FilePosition) -> Position:
    """Return a position in the form of the offset log."""
    if position.key is None:
        return {}
    content: dict[str, Position] = {"file": position.key.name, "seen": position.seen, "bytes": position.bytes}
    if position.key.time:
        content["time"] = position.key.time
    return content if position.is_done else {**content, "at": position.at}


def from_position(position: Position) -> FilePosition:
    """Read a position from the offset log."""
    match position:
        case {"file": str(name), "seen": int(seen), "bytes": int(size), **more}:
            time, at = more.get("time", 0), more.get("at")
            assert isinstance(time, int)
            assert at is None or isinstance(at, int)
            return FilePosition(Key(time, name), at or 0, at is None, seen, size)
    return FilePosition()


def _walk(root: Path) -> Iterator[Path]:
    def stop(wrong: OSError) -> None:
        raise UnreadableFileError(f"{wrong.filename} cannot be read: {wrong.strerror}") from wrong

    for folder, folders, names in os.walk(root, onerror=stop):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        yield from (Path(folder) / name for name in names if not name.startswith((".", "_")))
