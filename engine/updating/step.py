"""What an operator keeps of a bucket, and what a step gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import pyarrow as pa

from engine.updating.chunks import Chunks

NEVER = -(1 << 62)
"""Before every event time."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The tables of a bucket, the newest event time it has seen, how many values it has numbered, and when it was last
    swept of what is forgotten."""

    tables: Mapping[str, Chunks] = field(default_factory=lambda: MappingProxyType({}))
    newest: int = NEVER
    rows_seen: int = 0
    swept: int = NEVER


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is kept after a step, and the changes that it sends out."""

    kept: Kept
    out: pa.Table
