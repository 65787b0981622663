"""Read the files of a directory. They are one partition: in order, cut into ranges for the tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

from engine.connectors.base import LONGEST_SEARCH, Chunk, Compression, Position, Slice, Table
from engine.connectors.files.inputs import InputFile, file_of, list_inputs, local_file
from engine.connectors.files.listing import (
    FilePosition,
    FileRange,
    ListedFile,
    from_position,
    ranges_between,
    to_position,
)
from engine.connectors.files.parquet_rows import count_rows, group_ends, read_rows
from engine.connectors.files.storage import Prefix
from engine.connectors.filesystem.options import FilesystemSourceOptions
from engine.connectors.line_rows import line_reader
from engine.connectors.text_files import compression_of, cut_points, missing_file, skip_lines
from engine.errors import MissingFileError

_PARTITION = "files"
_SMALLEST_RANGE = 1024 * 1024
_RANGES_PER_TASK = 8


class FilesystemSource:
    """Reads each existing file once, in the order of their names."""

    bounded = True

    def __init__(self, table: Table, options: FilesystemSourceOptions) -> None:
        assert table.format is not None
        self._table = table
        self._options = options
        self._is_parquet = table.format.format == "parquet"

    @property
    def patience(self) -> timedelta:
        """Return how long it may take to list directories and to count rows in files."""
        return LONGEST_SEARCH

    def partitions(self) -> Sequence[str]:
        """Return the only partition, which consists of all files."""
        return (_PARTITION,)

    def start(self, partition: str) -> Position:
        """Return the position before the first file; the directory must exist."""
        location = self._options.path
        if isinstance(location, Prefix) and not self._list():
            raise MissingFileError(f"there is no file below {location}", hint="check the option 'path'")
        if isinstance(location, Path) and not location.exists():
            raise missing_file(location)
        return to_position(FilePosition())

    def advance(self, at: Mapping[str, Position], max_rows: int | None) -> Mapping[str, Position]:
        """Return the position after the last file, or `max_rows` rows further."""
        return {
            partition: to_position(self._advance(from_position(where), max_rows)) for partition, where in at.items()
        }

    def ends_now(self, at: Mapping[str, Position], stop: Mapping[str, int]) -> Mapping[str, Position]:
        """Return the position after the last file."""
        return self.advance(at, None)

    def earlier(self, first: Position, second: Position) -> Position:
        """Return the position in the earlier file, or the earlier position in the same file."""
        return first if from_position(first).place < from_position(second).place else second

    def is_finished(self, partition: str, at: Position) -> bool:
        """Whether every file is read."""
        position = from_position(at)
        return position.is_done and not any(_is_after(file, position) for file in self._list())

    def slices(self, partition: str, start: Position, end: Position, tasks: int) -> Sequence[Slice]:
        """Return the files between two positions, large ones split, divided in order. A slice lists its ranges, so that
        its task need not list the files again."""
        if start == end:
            return ()
        whole = self._between(start, end)
        # cut finer than needed, so that the tasks can get about equal shares
        size = max(_SMALLEST_RANGE, sum(file_range.weight for file_range in whole) // max(tasks, 1) // _RANGES_PER_TASK)
        ranges = [part for file_range in whole for part in self._cut(self._fixed(file_range), size)]
        return tuple(
            Slice(partition, {"pieces": [[part.name, part.start, part.end] for part in _merged(group)]}, end)
            for group in _divide(ranges, tasks)
        )

    def read(self, task_slice: Slice) -> Iterator[Chunk]:
        """Yield the rows of a slice."""
        for name, start, end in self._ranges_of(task_slice):
            path = self._path(name)
            if self._is_parquet:
                yield from read_rows(self._table, path, start, end)
            else:
                yield from line_reader(self._table).read(path, self._compression(path), start, end)

    def _ranges_of(self, task_slice: Slice) -> Iterator[tuple[str, int, int | None]]:
        assert isinstance(task_slice.start, dict)
        if "pieces" not in task_slice.start:
            for file_range in self._between(task_slice.start, task_slice.end):
                yield file_range.name, file_range.start, file_range.end
            return
        named = task_slice.start["pieces"]
        assert isinstance(named, list)
        for content in named:
            match content:
                case [str(name), int(start), int() | None as end]:
                    yield name, start, end

    def _between(self, start: Position, end: Position) -> list[FileRange]:
        """Return the ranges to read between two positions."""
        return ranges_between(self._list(), from_position(start), from_position(end))

    def _advance(self, position: FilePosition, max_rows: int | None) -> FilePosition:
        remaining = max_rows
        files = iter(self._list())
        while remaining is None or remaining > 0:
            if position.is_done:
                following = next((file for file in files if _is_after(file, position)), None)
                if following is None:
                    return position
                position = position.enter(following)
            if remaining is None:
                position = position.leave()
            else:
                position, rows = self._step(position, remaining)
                remaining -= rows
        return position

    def _step(self, position: FilePosition, rows: int) -> tuple[FilePosition, int]:
        """Return the position at most this many rows further within one file, and the number of rows."""
        assert position.key is not None
        path = self._path(position.key.name)
        if self._is_parquet:
            total = count_rows(path)
            if position.at + rows >= total:
                return position.leave(), total - position.at
            return position.move(position.at + rows), rows
        cut, counted = skip_lines(local_file(path), self._compression(path), position.at, rows)
        return (position.leave() if cut.is_end else position.move(cut.byte)), counted

    def _fixed(self, file_range: FileRange) -> FileRange:
        """Return the range with the end that its file had when it was listed: rows that are appended later do not
        belong to it."""
        if file_range.end is not None or self._is_parquet or self._compression(self._path(file_range.name)) != "none":
            return file_range
        return replace(file_range, end=file_range.size)

    def _cut(self, file_range: FileRange, size: int) -> Iterator[FileRange]:
        """Yield a range as ranges of about that size, if its file can be split."""
        path = self._path(file_range.name)
        # an object is not downloaded only to learn where it can be split
        if file_range.weight <= size or not isinstance(path, Path) or not self._can_be_cut(path):
            yield file_range
            return
        if self._is_parquet:
            cuts = [file_range.start, *group_ends(path, file_range.start, file_range.end)]
        else:
            end = file_range.size if file_range.end is None else file_range.end
            cuts = cut_points(path, file_range.start, end, -(-(end - file_range.start) // size))
        for start, end in pairwise(cuts):
            yield replace(file_range, start=start, end=end, weight=file_range.weight // (len(cuts) - 1))

    def _can_be_cut(self, path: Path) -> bool:
        return self._is_parquet or self._compression(path) == "none"

    def _list(self) -> list[ListedFile]:
        return list_inputs(self._options.path, self._options, self._options.regex_pattern, by_time=False)

    def _path(self, name: str) -> InputFile:
        return file_of(self._options.path, name, self._options)

    def _compression(self, path: InputFile) -> Compression:
        return self._options.compression or compression_of(path)


def _merged(ranges: Sequence[FileRange]) -> list[FileRange]:
    """Merge adjacent ranges."""
    joined: list[FileRange] = []
    for file_range in ranges:
        if joined and joined[-1].name == file_range.name and joined[-1].end == file_range.start:
            last = joined.pop()
            joined.append(replace(file_range, start=last.start, weight=last.weight + file_range.weight))
        else:
            joined.append(file_range)
    return joined


def _is_after(file: ListedFile, position: FilePosition) -> bool:
    return position.key is None or file.key > position.key


def _divide(ranges: Sequence[FileRange], tasks: int) -> list[list[FileRange]]:
    """Return the ranges in order, in at most `tasks` groups of about equal weight."""
    share = sum(file_range.weight for file_range in ranges) / max(tasks, 1)
    groups: list[list[FileRange]] = []
    assigned_weight = 0
    for file_range in ranges:
        if not groups or assigned_weight + file_range.weight / 2 > share * len(groups):
            groups.append([])
        groups[-1].append(file_range)
        assigned_weight += file_range.weight
    return groups
