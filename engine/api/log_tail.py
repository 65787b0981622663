"""What drivers have printed."""

from __future__ import annotations

from pathlib import Path

_BLOCK = 1024 * 1024
"""As much of one log as is read: several thousand lines."""


def tail(directory: Path, limit: int) -> list[str]:
    """The last lines of the logs in a directory, over as many runs as it takes."""
    lines: list[str] = []
    for log in sorted(directory.glob("[0-9]*.log"), reverse=True):
        lines = [*_last_lines(log), *lines]
        if len(lines) >= limit:
            break
    return lines[-limit:]


def _last_lines(log: Path) -> list[str]:
    with log.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _BLOCK))
        lines = file.read().decode(errors="replace").splitlines()
    return lines[1:] if size > _BLOCK else lines
