"""Read one file of lines. A position is a byte of the uncompressed text; `end` is the end of the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

from engine.connectors.base import LONGEST_SEARCH, Chunk, Position, Slice, Table
from engine.connectors.line_rows import line_reader
from engine.connectors.text_files import LineCut, compression_of, cut_points, size_of, skip_lines

_PARTITION = "0"
_SMALLEST_SLICE = 1024 * 1024


class SingleFileSource:
    """Reads the file once, up to its end at the time of planning."""

    bounded = True

    def __init__(self, table: Table, path: Path) -> None:
        self._table = table
        self._path = path
        self._compression = compression_of(path)

    @property
    def patience(self) -> timedelta:
        """Return no patience for text that can be split anywhere."""
        return timedelta(0) if self._compression == "none" else LONGEST_SEARCH

    def partitions(self) -> Sequence[str]:
        """Return the only partition, which is the file."""
        return (_PARTITION,)

    def start(self, partition: str) -> Position:
        """Return the first byte; the file must exist."""
        size_of(self._path)
        return {"byte": 0}

    def advance(self, at: Mapping[str, Position], max_rows: int | None) -> Mapping[str, Position]:
        """Return the end of the file, or `max_rows` lines further."""
        return {partition: self._advance(position, max_rows) for partition, position in at.items()}

    def ends_now(self, at: Mapping[str, Position], stop: Mapping[str, int]) -> Mapping[str, Position]:
        """Return the current end of the file; a compressed one is read to its end, whenever that is."""
        return self.advance(at, None)

    def earlier(self, first: Position, second: Position) -> Position:
        """Return the position at the earlier byte. No position is after the current end of the file, so that end is
        never earlier; the end of a compressed file is unknown."""
        (byte, is_end), (other, is_other_end) = _from_position(first), _from_position(second)
        is_before = byte < other or (is_other_end and self._compression != "none")
        return first if is_before and not is_end else second

    def is_finished(self, partition: str, at: Position) -> bool:
        """Whether the file is read."""
        byte, is_end = _from_position(at)
        return is_end or (self._compression == "none" and byte >= size_of(self._path))

    def slices(self, partition: str, start: Position, end: Position, tasks: int) -> Sequence[Slice]:
        """Return the range split between lines; a compressed file is not split."""
        if start == end:
            return ()
        first, last = _from_position(start)[0], _from_position(end)[0]
        if self._compression != "none" or last - first <= _SMALLEST_SLICE:
            return (Slice(partition, start, end),)
        count = min(tasks, -(-(last - first) // _SMALLEST_SLICE))
        cuts: list[Position] = [{"byte": byte} for byte in cut_points(self._path, first, last, count)]
        cuts[-1] = end
        return tuple(Slice(partition, cut, next_cut) for cut, next_cut in pairwise(cuts))

    def read(self, task_slice: Slice) -> Iterator[Chunk]:
        """Return the rows of a slice."""
        start, is_over = _from_position(task_slice.start)
        end, is_end = _from_position(task_slice.end)
        if is_over or task_slice.start == task_slice.end:
            return iter(())
        to_end = is_end and self._compression != "none"
        return line_reader(self._table).read(self._path, self._compression, start, None if to_end else end)

    def _advance(self, at: Position, max_rows: int | None) -> Position:
        byte, is_end = _from_position(at)
        if is_end:
            return at
        if max_rows is not None:
            cut, _ = skip_lines(self._path, self._compression, byte, max_rows)
            return _to_position(cut) if cut.is_end or cut.byte > byte else at
        if self._compression != "none":
            return {"byte": byte, "end": True}
        return {"byte": max(byte, size_of(self._path)), "end": True}


def _from_position(position: Position) -> tuple[int, bool]:
    assert isinstance(position, dict)
    byte = position["byte"]
    assert isinstance(byte, int)
    return byte, bool(position.get("end"))


def _to_position(cut: LineCut) -> Position:
    return {"byte": cut.byte, "end": True} if cut.is_end else {"byte": cut.byte}
