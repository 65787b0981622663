"""The options of a table in one file."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field as Option

from engine.connectors.base import Options


class SingleFileOptions(Options):
    """Which file."""

    path: Path = Option(description="Path of the file. A name that ends in .gz or .zst means that it is compressed.")
    wait_for_control: bool = Option(True, description="Accepted for compatibility and ignored.")
