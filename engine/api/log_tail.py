"""What drivers have printed: the last lines, and those that follow.

000003.log    a b c            the last lines: a b c d, cursor 4-2
000004.log    d
000004.log    d e              after 4-2: e, cursor 4-4
000005.log    f                after 4-4: f, cursor 5-2
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.errors import RequestError

_BLOCK = 1024 * 1024
"""As much of one log as is read at once: several thousand lines."""
_CURSOR = re.compile(r"([0-9]{1,9})-([0-9]{1,15})")


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in the logs of a pipeline: how much of which run's was read."""

    generation: int = 0
    offset: int = 0

    def __str__(self) -> str:
        return f"{self.generation}-{self.offset}"

    @staticmethod
    def read(text: str) -> Cursor:
        """What an answer has called its cursor."""
        parts = _CURSOR.fullmatch(text)
        if parts is None:
            raise RequestError(f"{text!r} is not a cursor", hint="send the cursor of an answer before as it is")
        return Cursor(int(parts[1]), int(parts[2]))


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines that follow a cursor, and the cursor that follows them."""

    lines: list[str]
    cursor: Cursor
    has_more: bool


def tail(directory: Path, limit: int) -> tuple[list[str], Cursor]:
    """The last lines of the logs in a directory, over as many runs as it takes, and where they end."""
    lines: list[str] = []
    logs = _logs(directory)
    cursor = Cursor()
    for log in reversed(logs):
        printed, size = _last_lines(log)
        lines = [*printed, *lines]
        if log == logs[-1]:
            cursor = Cursor(_generation(log), size)
        if len(lines) >= limit:
            break
    return lines[-limit:], cursor


def read_on(directory: Path, cursor: Cursor, limit: int, *, is_at_rest: bool) -> Piece:
    """The lines after a cursor, so many at most. A line that is not at its end yet is left for later, unless nobody is
    there to end it. A log that was removed is passed over."""
    lines: list[str] = []
    logs = [log for log in _logs(directory) if _generation(log) >= cursor.generation]
    for log in logs:
        is_over = is_at_rest or log != logs[-1]
        start = cursor.offset if _generation(log) == cursor.generation else 0
        fresh, end, is_whole = _lines_from(log, start, limit - len(lines), is_over=is_over)
        lines += fresh
        cursor = Cursor(_generation(log), end)
        if not is_whole:
            return Piece(lines, cursor, has_more=True)
    return Piece(lines, cursor, has_more=False)


def _logs(directory: Path) -> Sequence[Path]:
    return sorted(directory.glob("[0-9]*.log"))


def _generation(log: Path) -> int:
    return int(log.stem)


def _last_lines(log: Path) -> tuple[list[str], int]:
    with log.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _BLOCK))
        content = file.read(_BLOCK)
    lines = _split(content)
    return (lines[1:] if size > _BLOCK else lines), max(0, size - _BLOCK) + len(content)


def _lines_from(log: Path, start: int, limit: int, *, is_over: bool) -> tuple[list[str], int, bool]:
    """Lines from an offset on, where they end, and whether these are all there are now."""
    with log.open("rb") as file:
        size = file.seek(0, 2)
        if start > size:
            start = 0  # another file in its place
        file.seek(start)
        content = file.read(min(_BLOCK, size - start))
    is_all = start + len(content) == size
    # a line that is longer than what is read at once is cut
    ends = len(content) if (is_over and is_all) or (not is_all and b"\n" not in content) else content.rfind(b"\n") + 1
    parts = content[:ends].splitlines(keepends=True)
    taken = parts[:limit]
    end = start + sum(map(len, taken))
    return _split(b"".join(taken)), end, is_all and len(taken) == len(parts)


def _split(content: bytes) -> list[str]:
    """Lines as text; only a line feed ends one, whatever else it holds."""
    text = content.decode(errors="replace")
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []
