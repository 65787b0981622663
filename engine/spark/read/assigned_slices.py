"""What the plan of an epoch tells a task: which slices it reads, and of which moment."""

from __future__ import annotations

from dataclasses import dataclass

from engine.connectors.base import Position, Slice


@dataclass(frozen=True, slots=True)
class AssignedSlice:
    """A slice to read, which slice of its partition it is, where that partition's range ends, and into how many slices
    it is cut."""

    slice: Slice
    index: int
    end: Position
    count: int = 1


@dataclass(frozen=True, slots=True)
class EpochMoment:
    """What the plan of an epoch says to all that read for it, in microseconds: the watermark that its rows are measured
    by, and when it was planned, which is the event time of rows that have none. Rows before `since`, and from `until`
    on, are left out."""

    watermark: int
    planned: int
    since: int | None = None
    until: int | None = None
