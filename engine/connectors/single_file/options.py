"""What a table in one file may be told."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field as Option

from engine.connectors.base import Options


class SingleFileOptions(Options):
    """Which file."""

    path: Path = Option(description="The file. Names ending in .gz or .zst are compressed.")
    wait_for_control: bool = Option(True, description="Accepted for compatibility; nothing waits.")
