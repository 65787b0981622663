"""The epoch that a sink is asked to take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Epoch:
    """Which epoch a sink is asked to take, and by whom. `offsets` is a hash of where the epoch's input ends."""

    number: int
    lineage: str
    generation: int
    offsets: str
    parents: tuple[tuple[str, int], ...] = ()
    """Lineages this one was restored from, nearest first, each with the last epoch that was taken over."""
    watermark: int | None = None
    """Nothing older than this, in microseconds, comes after the epoch; None when there is no watermark yet."""
    is_last: bool = False
    """Whether nothing at all comes after the epoch."""
    watermark_before: int | None = None
    """The `watermark` of the epoch before this one."""
