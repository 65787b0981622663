"""What a process has printed last, for those who wonder why it has ended."""

from __future__ import annotations

import os
from pathlib import Path

_MOST = 16_384
"""Bytes that are read: a log may be larger than the memory."""


def last_words(log: Path) -> str:
    """The end of what is in a log; empty where it has none, or there is no log."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _MOST))
            return file.read(_MOST).decode(errors="replace").strip()
    except OSError:
        return ""
