"""Address of a control plane: the base path of its API, valid path segments, and the address in its data directory."""

from __future__ import annotations

import json
from pathlib import Path

API_PREFIX = "/api/v1"
"""Prefix of the path of every request."""


NAME = r"[^\x00-\x1f/\\]+"
"""Pattern of a pipeline's name, which is a path segment."""
LONGEST_NAME = 256


def read_pid(server_file: Path) -> int | None:
    """Return the process id that the last control plane of a data directory has recorded; None if there is none."""
    try:
        address = json.loads(server_file.read_text())
    except (OSError, ValueError):
        return None
    pid = address.get("pid") if isinstance(address, dict) else None
    return pid if isinstance(pid, int) and pid > 0 else None


def read_address(server_file: Path) -> str | None:
    """Return the URL that the last control plane of a data directory has recorded; None if there is none to read."""
    try:
        address = json.loads(server_file.read_text())
    except (OSError, ValueError):
        return None
    url = address.get("url") if isinstance(address, dict) else None
    return url if isinstance(url, str) else None
