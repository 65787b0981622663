"""Slices that the plan of an epoch assigns to a task, and the times of that epoch."""

from __future__ import annotations

from dataclasses import dataclass

from engine.connectors.base import Position, Slice


@dataclass(frozen=True, slots=True)
class AssignedSlice:
    """A slice to read: its number within its partition, the number of slices of the partition, and the end of the
    partition's range."""

    slice: Slice
    index: int
    end: Position
    count: int = 1


@dataclass(frozen=True, slots=True)
class EpochMoment:
    """Times of an epoch in microseconds: the watermark of its rows, and the time of planning, which is the event time
    of rows without one. Rows before `since`, and from `until` on, are dropped."""

    watermark: int
    planned: int
    since: int | None = None
    until: int | None = None
