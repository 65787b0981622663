"""Table names in a form that paths and Spark names can contain."""

from __future__ import annotations

import hashlib


def safe_name(table: str) -> str:
    """Return a name that is safe as a part of a path and different for every table, whatever its name is; case does not
    matter."""
    lower = table.lower()
    readable = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in lower)[:40]
    return f"{readable}_{hashlib.sha256(lower.encode()).hexdigest()[:8]}"
