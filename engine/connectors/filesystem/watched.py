"""Watch a directory: read files as they arrive, and lines as they are appended.

Files are read in the order of their modification times. A position has a record of each file (`files/read_files.py`).
So a file that has grown is read on; any other change is an error or, by an option of the table, a new file.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from engine.connectors.base import Position, Table
from engine.connectors.files.inputs import list_inputs
from engine.connectors.files.listing import (
    FilePosition,
    FileRange,
    Key,
    ListedFile,
    from_position,
    to_position,
)
from engine.connectors.files.parquet_rows import count_rows
from engine.connectors.files.read_files import (
    REMEMBERED,
    ReadFile,
    digest_of,
    ends_line,
    is_unchanged,
    lines_end,
    newest,
    read_files,
)
from engine.connectors.filesystem.options import FilesystemSourceOptions
from engine.connectors.filesystem.source import FilesystemSource
from engine.connectors.text_files import skip_lines
from engine.errors import FilesChangedError

_ADVICE = (
    "only append lines to a file that was read, and give what is new a name of its own; "
    "'source.on_change' = 'new_file' reads a changed file from its beginning as a new one"
)


class WatchedFilesystemSource(FilesystemSource):
    """Reads each file once, and later its appended lines. A new file must not have an older modification time than the
    files that were read."""

    bounded = False

    def __init__(self, table: Table, options: FilesystemSourceOptions, clock: Callable[[], int] = time.time_ns) -> None:
        super().__init__(table, options)
        self._clock = clock
        self._end: Position = None
        self._proven: set[tuple[ListedFile, ReadFile]] = set()
        self._adoption: tuple[FilePosition, dict[str, ReadFile]] | None = None

    def advance(self, at: Mapping[str, Position], max_rows: int | None) -> Mapping[str, Position]:
        """Return the position after all existing rows, or `max_rows` rows or a thousand files further."""
        return {partition: self._read_on(where, max_rows, REMEMBERED) for partition, where in at.items()}

    def ends_now(self, at: Mapping[str, Position], stop: Mapping[str, int]) -> Mapping[str, Position]:
        """Return the position after all existing rows."""
        return {partition: self._read_on(where, None, None) for partition, where in at.items()}

    def is_at_end(self, partition: str, at: Position) -> bool:
        """Whether everything is read, and no file or line was in progress."""
        return at == self._end

    def is_finished(self, partition: str, at: Position) -> bool:
        """Return False: more files may always follow."""
        return False

    def _read_on(self, at: Position, max_rows: int | None, most_files: int | None) -> Position:
        before, remaining, self._end = from_position(at), max_rows, None
        files = self._list()
        done = _read_of(at) or self._adopted(before, files)
        touched: dict[ListedFile, ReadFile] = {}
        is_end, progress = True, 0
        for file in files:
            if len(touched) == most_files or remaining == 0:
                is_end = False
                break
            found = done.get(file.key.name)
            if found is None and before.key is not None and file.key <= before.key:
                continue
            first = self._first(file, found)
            if first is None:
                is_end = False
                continue
            after, count = self._read_file(file, first, remaining)
            is_end = is_end and after.at is None and after.size >= file.size
            if after == first:
                continue
            remaining = None if remaining is None else max(0, remaining - count)
            progress += _progress(first, after)
            touched[file] = after
        position = moved(at, done, touched, progress)
        self._end = position if is_end else None
        return position

    def _adopted(self, before: FilePosition, files: Sequence[ListedFile]) -> dict[str, ReadFile]:
        """Return what was read of the last file, if a state of an earlier version names no other one. If the file has
        changed since, what was read of it is unknown."""
        if before.key is None:
            return {}
        if self._adoption is None or self._adoption[0] != before:
            last = next((file for file in files if file.key == before.key), None)
            read = ReadFile(before.bytes, "", before.key.time) if last is None else self._whole(last)
            if last is not None and not before.is_done:
                path = self._path(last.key.name)
                size = before.at if self._grows(path) else last.size
                at = None if self._grows(path) else before.at
                read = ReadFile(size, digest_of(path, size) or "", last.key.time, at)
            self._adoption = before, {before.key.name: read}
        return self._adoption[1]

    def _whole(self, file: ListedFile) -> ReadFile:
        return ReadFile(file.size, digest_of(self._path(file.key.name), file.size) or "", file.key.time)

    def _first(self, file: ListedFile, found: ReadFile | None) -> ReadFile | None:
        """Return what was read of a file, nothing for a new one; None while the file must settle. Raise if it is no
        longer the file that was read."""
        path = self._path(file.key.name)
        is_settled = self._is_settled(file)
        if found is None:
            may_begin = is_settled or (not file.key.name and self._grows(path))
            return self._nothing(file) if may_begin else None
        is_as_it_was = file.key.time == found.time and file.size >= found.size
        if is_as_it_was or self._has_kept(file, found):
            return found
        if self._options.on_change == "fail":
            raise _changed(path, file.size, found, grows=self._grows(path))
        return self._nothing(file, found.version + 1) if is_settled else None

    def _nothing(self, file: ListedFile, version: int = 0) -> ReadFile:
        """Return the progress in a file before its first row."""
        at = None if self._grows(self._path(file.key.name)) else 0
        return ReadFile(0, "", file.key.time, at, version)

    def _has_kept(self, file: ListedFile, found: ReadFile) -> bool:
        """Whether a file still has everything that was read of it, followed by whole lines at most."""
        if (file, found) in self._proven:
            return True
        path = self._path(file.key.name)
        has_kept = is_unchanged(path, found) and (
            file.size == found.size or (self._grows(path) and ends_line(path, found.size))
        )
        if has_kept:
            self._proven = {(other, read) for other, read in self._proven if other.key.name != file.key.name}
            self._proven.add((file, found))
        return has_kept

    def _read_file(self, file: ListedFile, first: ReadFile, rows: int | None) -> tuple[ReadFile, int]:
        """Return the progress in a file after reading all of it or this many further rows, and the number of rows."""
        path = self._path(file.key.name)
        if not self._grows(path):
            return self._read_rows(file, first, rows)
        end = file.size if self._is_settled(file) else lines_end(path, first.size, file.size)
        if end <= first.size:
            return first, 0
        count = 0
        if rows is not None:
            cut, count = skip_lines(path, "none", first.size, rows)
            end = min(end, cut.byte)
        digest = digest_of(path, end)
        if digest is None:
            raise _changed(path, file.size, replace(first, size=end), grows=True)
        return ReadFile(end, digest, file.key.time, version=first.version), count

    def _read_rows(self, file: ListedFile, first: ReadFile, rows: int | None) -> tuple[ReadFile, int]:
        """Return the slice of a file that cannot be read by bytes."""
        if first.at is None:
            return first, 0
        path = self._path(file.key.name)
        digest = first.digest or digest_of(path, file.size) or ""
        done = ReadFile(file.size, digest, file.key.time, version=first.version)
        if rows is None:
            return done, 0
        if self._is_parquet:
            total = count_rows(path)
            count = min(rows, total - first.at)
            return (done if first.at + count >= total else replace(done, at=first.at + count)), count
        cut, count = skip_lines(path, self._compression(path), first.at, rows)
        return (done if cut.is_end else replace(done, at=cut.byte)), count

    def _between(self, start: Position, end: Position) -> list[FileRange]:
        """Return the ranges to read between two positions: what the later one has of each file, and the earlier one
        lacks. A position of an earlier version has only counts."""
        if not isinstance(end, dict) or "read" not in end:
            return super()._between(start, end)
        before, after, position = _read_of(start), _read_of(end), from_position(start)
        ranges = []
        for name, read in sorted(after.items(), key=lambda item: (item[1].time, item[0])):
            found = before.get(name)
            if read != found and not (found is None and _is_passed(name, read, position)):
                ranges.append(self._range(name, found, read, position))
        return ranges

    def _range(self, name: str, found: ReadFile | None, read: ReadFile, start: FilePosition) -> FileRange:
        path = self._path(name)
        grows = self._grows(path)
        self._check(path, read, grows=grows)
        first = 0
        if found is not None and found.version == read.version:
            first = found.size if grows else found.at or 0
        elif found is None and start.key == Key(read.time, name):
            first = start.at
        last = read.size if grows else read.at
        return FileRange(name, first, last, read.size, max(1, read.size - first if grows else read.size))

    def _check(self, path: Path, read: ReadFile, *, grows: bool) -> None:
        """Raise if a file is no longer the one that the epoch was planned with."""
        if not path.exists():
            raise FilesChangedError(f"{path} was to be read and is gone", hint="put it back")
        status = path.stat()
        if status.st_mtime_ns != read.time and not is_unchanged(path, read):
            raise _changed(path, status.st_size, read, grows=grows)

    def _path(self, name: str) -> Path:
        path = super()._path(name)
        assert isinstance(path, Path), "a bucket is read once"
        return path

    def _list(self) -> list[ListedFile]:
        return list_inputs(self._options.path, self._options, self._options.regex_pattern, by_time=True)

    def _is_settled(self, file: ListedFile) -> bool:
        """Whether a file has been unchanged for `settle_time`."""
        return file.key.time <= self._clock() - int(self._options.settle_time.total_seconds() * 1e9)

    def _grows(self, path: Path) -> bool:
        """Whether lines may be appended to a file. Parquet files and compressed ones are read as a whole."""
        return not self._is_parquet and self._compression(path) == "none"


def _read_of(position: Position) -> dict[str, ReadFile]:
    return read_files(position.get("read")) if isinstance(position, dict) else {}


def _is_passed(name: str, read: ReadFile, start: FilePosition) -> bool:
    """Whether a file precedes a position that does not record what was read of it."""
    if start.key is None or Key(read.time, name) > start.key:
        return False
    return start.is_done or Key(read.time, name) < start.key


def _progress(first: ReadFile, after: ReadFile) -> int:
    """Return how far a file was read, as a number that only grows and orders positions."""
    if after.at is not None:
        return after.at - (first.at or 0)
    return max(1, after.size - (0 if first.at is not None else first.size))


def moved(
    at: Position, done: Mapping[str, ReadFile], touched: Mapping[ListedFile, ReadFile], progress: int
) -> Position:
    """Return the position after `at` when these files were read further; `done` has the progress in others."""
    if not touched:
        return at
    before = from_position(at)
    names = {file.key.name: read for file, read in touched.items()}
    files = newest({**done, **names}, frozenset(names))
    last = max(file.key for file in touched)
    key = last if before.key is None else max(before.key, last)
    position = to_position(FilePosition(key, 0, True, before.seen + len(touched), before.bytes + progress))
    assert isinstance(position, dict)
    return {**position, "read": {name: file.to_json() for name, file in files.items()}}


def _changed(path: Path, size: int, read: ReadFile, *, grows: bool) -> FilesChangedError:
    if not read.digest:
        change = "what was read of it is not known, since an earlier version has read it"
    elif size < read.size:
        change = f"it was cut from {read.size} to {size} bytes"
    elif size == read.size:
        change = "it was rewritten"
    elif grows:
        change = f"it has grown to {size} bytes, and the first {read.size} have changed, or the last line has"
    else:
        change = f"it has grown to {size} bytes, which can be read on with in a file of uncompressed lines only"
    return FilesChangedError(f"{path} has changed since it was read: {change}", hint=_ADVICE)
