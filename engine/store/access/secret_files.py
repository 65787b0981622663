"""Small files that only their owner can read."""

from __future__ import annotations

import os
from pathlib import Path


def secure(path: Path, text: str) -> None:
    """Write a small file for the eyes of this user only, whole or not at all."""
    fresh = path.with_suffix(".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    fresh.replace(path)
