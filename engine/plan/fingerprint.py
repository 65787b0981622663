"""One short text for everything that decides what a plan's state means."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from engine.plan.nodes import Write


def fingerprint(writes: Sequence[Write], tables: Mapping[str, str]) -> str:
    """The same text for the same plan over the same tables, another one for any other; spelling, comments and
    layout of the script do not matter. `tables` describes each table that is touched."""
    parts = [repr(write) for write in writes] + [f"{name}={tables[name]}" for name in sorted(tables)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
