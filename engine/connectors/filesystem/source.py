"""Reading the files of a directory. They are one partition: in order, cut into pieces for the tasks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from engine.connectors.base import Chunk, Position, Slice, Table
from engine.connectors.files.listing import (
    FilePosition,
    FileRange,
    ListedFile,
    from_position,
    list_files,
    ranges_between,
    to_position,
)
from engine.connectors.files.parquet_rows import count_rows, group_ends, read_rows
from engine.connectors.filesystem.options import FilesystemSourceOptions
from engine.connectors.line_rows import line_reader
from engine.connectors.text_files import Compression, compression_of, missing, spread, step

_PARTITION = "files"
_SMALLEST_PIECE = 1024 * 1024
_PIECES_PER_TASK = 8


class FilesystemSource:
    """Reads each file once. A watching source takes files in the order in which they were last changed, so a new
    file must not pretend to be older than those that were read."""

    def __init__(self, table: Table, options: FilesystemSourceOptions, clock: Callable[[], int] = time.time_ns) -> None:
        assert table.format is not None
        self.bounded = not options.watch
        self._table = table
        self._options = options
        self._is_parquet = table.format.format == "parquet"
        self._clock = clock

    def partitions(self) -> Sequence[str]:
        """All files together are one partition."""
        return (_PARTITION,)

    def start(self, partition: str) -> Position:
        """Before the first file; the directory must be there."""
        if not self._options.path.exists():
            raise missing(self._options.path)
        return to_position(FilePosition())

    def advance(self, at: Mapping[str, Position], max_rows: int | None) -> Mapping[str, Position]:
        """Behind the last file there is, or `max_rows` rows further."""
        return {
            partition: to_position(self._advance(from_position(where), max_rows)) for partition, where in at.items()
        }

    def is_finished(self, partition: str, at: Position) -> bool:
        """Whether every file is read and none is waited for."""
        place = from_position(at)
        return self.bounded and place.is_done and not any(_is_after(file, place) for file in self._list())

    def slices(self, partition: str, start: Position, end: Position, tasks: int) -> Sequence[Slice]:
        """The files between two positions, large ones cut, dealt out in order. A slice names its pieces itself, so
        that its task need not look for the files again."""
        if start == end:
            return ()
        whole = ranges_between(self._list(settled=False), from_position(start), from_position(end))
        # cut finer than needed, so that the hands can be dealt about equal shares
        wanted = max(_SMALLEST_PIECE, sum(piece.weight for piece in whole) // max(tasks, 1) // _PIECES_PER_TASK)
        pieces = [part for piece in whole for part in self._cut(self._fixed(piece), wanted)]
        return tuple(
            Slice(partition, {"pieces": [[piece.name, piece.start, piece.end] for piece in _merged(group)]}, end)
            for group in _deal(pieces, tasks)
        )

    def read(self, piece: Slice) -> Iterator[Chunk]:
        """The rows of a slice."""
        for name, start, end in self._pieces(piece):
            path = self._path(name)
            if self._is_parquet:
                yield from read_rows(self._table, path, start, end)
            else:
                yield from line_reader(self._table).read(path, self._compression(path), start, end)

    def _pieces(self, piece: Slice) -> Iterator[tuple[str, int, int | None]]:
        assert isinstance(piece.start, dict)
        if "pieces" not in piece.start:
            for found in ranges_between(
                self._list(settled=False), from_position(piece.start), from_position(piece.end)
            ):
                yield found.name, found.start, found.end
            return
        named = piece.start["pieces"]
        assert isinstance(named, list)
        for each in named:
            match each:
                case [str(name), int(start), int() | None as end]:
                    yield name, start, end

    def _advance(self, place: FilePosition, max_rows: int | None) -> FilePosition:
        left = max_rows
        files = self._list()
        while left is None or left > 0:
            if place.is_done:
                following = next((file for file in files if _is_after(file, place)), None)
                if following is None:
                    return place
                files = files[files.index(following) + 1 :]
                place = place.enter(following)
            if left is None:
                place = place.leave()
            else:
                place, rows = self._step(place, left)
                left -= rows
        return place

    def _step(self, place: FilePosition, rows: int) -> tuple[FilePosition, int]:
        """At most so many rows further within one file."""
        assert place.key is not None
        path = self._path(place.key.name)
        if self._is_parquet:
            total = count_rows(path)
            if place.at + rows >= total:
                return place.leave(), total - place.at
            return place.move(place.at + rows), rows
        cut, counted = step(path, self._compression(path), place.at, rows)
        return (place.leave() if cut.is_end else place.move(cut.byte)), counted

    def _fixed(self, piece: FileRange) -> FileRange:
        """The piece with the end that its file had when it was listed: what is appended later is not its."""
        if piece.end is not None or self._is_parquet or self._compression(self._path(piece.name)) != "none":
            return piece
        return replace(piece, end=piece.size)

    def _cut(self, piece: FileRange, wanted: int) -> Iterator[FileRange]:
        """A piece of a file as pieces of about the wanted size, where it can be cut."""
        path = self._path(piece.name)
        if piece.weight <= wanted or not (self._is_parquet or self._compression(path) == "none"):
            yield piece
            return
        if self._is_parquet:
            cuts = [piece.start, *group_ends(path, piece.start, piece.end)]
        else:
            end = piece.size if piece.end is None else piece.end
            cuts = spread(path, piece.start, end, -(-(end - piece.start) // wanted))
        for start, end in pairwise(cuts):
            yield replace(piece, start=start, end=end, weight=piece.weight // (len(cuts) - 1))

    def _list(self, *, settled: bool = True) -> list[ListedFile]:
        watch = self._options.watch
        until = self._clock() - int(self._options.settle_time.total_seconds() * 1e9) if watch and settled else None
        return list_files(self._options.path, self._options.regex_pattern, by_time=watch, until=until)

    def _path(self, name: str) -> Path:
        return self._options.path / name if name else self._options.path

    def _compression(self, path: Path) -> Compression:
        return self._options.compression or compression_of(path)


def _merged(pieces: Sequence[FileRange]) -> list[FileRange]:
    """The same with neighbours joined again."""
    joined: list[FileRange] = []
    for piece in pieces:
        if joined and joined[-1].name == piece.name and joined[-1].end == piece.start:
            last = joined.pop()
            piece = replace(piece, start=last.start, weight=last.weight + piece.weight)  # noqa: PLW2901 - it grew
        joined.append(piece)
    return joined


def _is_after(file: ListedFile, place: FilePosition) -> bool:
    return place.key is None or file.key > place.key


def _deal(pieces: Sequence[FileRange], hands: int) -> list[list[FileRange]]:
    """The pieces in order, in at most `hands` groups of about equal weight."""
    share = sum(piece.weight for piece in pieces) / max(hands, 1)
    groups: list[list[FileRange]] = []
    dealt = 0
    for piece in pieces:
        if not groups or dealt + piece.weight / 2 > share * len(groups):
            groups.append([])
        groups[-1].append(piece)
        dealt += piece.weight
    return groups
