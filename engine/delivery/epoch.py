"""The epoch that a sink has to write."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Epoch:
    """An epoch to write: its number, lineage and generation. `offsets` is a hash of the end of the epoch's input."""

    number: int
    lineage: str
    generation: int
    offsets: str
    parents: tuple[tuple[str, int], ...] = ()
    """Lineages that this one was restored from, nearest first, each with the last epoch that was taken over."""
    watermark: int | None = None
    """No row before this time (microseconds) follows the epoch; None if there is no watermark yet."""
    is_last: bool = False
    """Whether nothing follows the epoch."""
    watermark_before: int | None = None
    """The `watermark` of the previous epoch."""
