"""Output of drivers: the last lines, and new lines.

000003.log    a b c          the last lines: a b c d, cursor 4-2
000004.log    d
000004.log    d e            after 4-2: e, cursor 4-4
000005.log    f              after 4-4: f, cursor 5-2
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.errors import RequestError

_BLOCK = 1024 * 1024
"""Bytes of a log to read at once: several thousand lines."""
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_CURSOR = re.compile(r"([0-9]{1,9})-([0-9]{1,15})")


@dataclass(frozen=True, slots=True)
class Cursor:
    """Position in the logs of a pipeline: a run, and a position in its log."""

    generation: int = 0
    offset: int = 0

    def __str__(self) -> str:
        return f"{self.generation}-{self.offset}"

    @staticmethod
    def read(text: str) -> Cursor:
        """Parse the cursor of an earlier answer."""
        parts = _CURSOR.fullmatch(text)
        if parts is None:
            raise RequestError(f"{text!r} is not a cursor", hint="send the cursor of an answer before as it is")
        return Cursor(int(parts[1]), int(parts[2]))


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines after a cursor, and the next cursor."""

    lines: list[str]
    cursor: Cursor
    has_more: bool


def tail(directory: Path, limit: int, *, is_at_rest: bool) -> tuple[list[str], Cursor]:
    """Return the last lines of the logs in a directory, over as many runs as needed, and where they end. As in
    `read_on`, an incomplete line is left for later, and a removed log is skipped."""
    lines: list[str] = []
    logs = _logs(directory)
    cursor: Cursor | None = None
    for log in reversed(logs):
        try:
            printed, end = _last_lines(log, is_over=is_at_rest or log != logs[-1])
        except FileNotFoundError:
            continue
        lines = [*printed, *lines]
        cursor = cursor or Cursor(_generation(log), end)
        if len(lines) >= limit:
            break
    return lines[-limit:], cursor or Cursor()


def read_on(directory: Path, cursor: Cursor, limit: int, *, is_at_rest: bool) -> Piece:
    """Return at most `limit` lines after a cursor. An incomplete line is left for later, unless its writer is gone. A
    removed log is skipped."""
    lines: list[str] = []
    logs = [log for log in _logs(directory) if _generation(log) >= cursor.generation]
    for log in logs:
        is_over = is_at_rest or log != logs[-1]
        start = cursor.offset if _generation(log) == cursor.generation else 0
        try:
            fresh, end, is_whole = _lines_from(log, start, limit - len(lines), is_over=is_over)
        except FileNotFoundError:
            continue
        lines += fresh
        cursor = Cursor(_generation(log), end)
        if not is_whole:
            return Piece(lines, cursor, has_more=True)
    return Piece(lines, cursor, has_more=False)


def _logs(directory: Path) -> Sequence[Path]:
    return sorted(directory.glob("[0-9]*.log"))


def _generation(log: Path) -> int:
    return int(log.stem)


def _last_lines(log: Path, *, is_over: bool) -> tuple[list[str], int]:
    with log.open("rb") as file:
        size = file.seek(0, 2)
        start = max(0, size - _BLOCK)
        file.seek(start)
        content = file.read(size - start)
    end = _end_of_lines(content, is_cut=start > 0, is_over=is_over)
    lines = _split(content[:end])
    return (lines[1:] if start > 0 else lines), start + end


def _lines_from(log: Path, start: int, limit: int, *, is_over: bool) -> tuple[list[str], int, bool]:
    """Return the lines from an offset on, their end, and whether these are all at present."""
    with log.open("rb") as file:
        size = file.seek(0, 2)
        if start > size:
            start = 0  # another file in its place
        file.seek(start)
        content = file.read(min(_BLOCK, size - start))
    is_all = start + len(content) == size
    end = _end_of_lines(content, is_cut=not is_all, is_over=is_over and is_all)
    parts = _LINE.findall(content[:end])
    shown = parts[:limit]
    end = start + sum(map(len, shown))
    return _split(b"".join(shown)), end, is_all and len(shown) == len(parts)


def _end_of_lines(content: bytes, *, is_cut: bool, is_over: bool) -> int:
    """Return the end of the last whole line. A line that is longer than one read counts as whole."""
    return len(content) if is_over or (is_cut and b"\n" not in content) else content.rfind(b"\n") + 1


def _split(content: bytes) -> list[str]:
    """Split content into lines of text; only a line feed ends a line."""
    text = content.decode(errors="replace")
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []
