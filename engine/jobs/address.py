"""Where a control plane is reached: where its API begins, what a piece of a path may be, and the address that it writes
into its data directory."""

from __future__ import annotations

import json
from pathlib import Path

API_PREFIX = "/api/v1"
"""What the path of every request begins with."""


NAME = r"[^\x00-\x1f/\\]+"
"""What a pipeline may be called; its name is a piece of a path."""
LONGEST_NAME = 256


def read_pid(server_file: Path) -> int | None:
    """Return the process id that the last control plane of a data directory wrote down; None if there is none."""
    try:
        address = json.loads(server_file.read_text())
    except (OSError, ValueError):
        return None
    pid = address.get("pid") if isinstance(address, dict) else None
    return pid if isinstance(pid, int) and pid > 0 else None


def read_address(server_file: Path) -> str | None:
    """The URL that the last control plane of a data directory has written down; None when there is none to read."""
    try:
        address = json.loads(server_file.read_text())
    except (OSError, ValueError):
        return None
    url = address.get("url") if isinstance(address, dict) else None
    return url if isinstance(url, str) else None
