"""Options of a table in one file."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pydantic import Field as Option

from engine.connectors.base import Options
from engine.connectors.existing import Existing, existing_option


class SingleFileOptions(Options):
    """Path of the file."""

    path: Path = Option(description="Path of the file. A name that ends in .gz or .zst means that it is compressed.")
    wait_for_control: bool = Option(True, description="Accepted for compatibility and ignored.")


class SingleFileSinkOptions(SingleFileOptions):
    """Path of the file, and what to do if it exists."""

    changeable: ClassVar[frozenset[str]] = frozenset({"existing"})

    existing: Existing = existing_option("and empties the file first")
