"""Read to the position where another run of the same tables has stopped, and no further. Pure.

    original    stopped at p0 to 30 and p1 to 12, watermark 12:05
    copy        p0 to 28, p1 to 12, watermark 12:04
    next epoch  p0 to 30, p1 to 12, watermark 12:04: rows that were in time for the original are not late
    next epoch  watermark 12:05: the copy has closed the same windows as the original
    afterwards  nothing is read, and no window closes

So a pipeline that takes over from the original at this point neither loses nor repeats output.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.connectors.base import HasEnd, Position, Source


def unread(other: Mapping[str, Position], source: Source, at: Mapping[str, Position]) -> Mapping[str, Position]:
    """Return the positions of the partitions that are not where the other run was. A partition that it has not read
    waits."""
    return {
        name: position
        for name, position in at.items()
        if name in other and not has_reached(source, position, other[name])
    }


def within(other: Mapping[str, Position], source: Source, at: Mapping[str, Position]) -> Mapping[str, Position]:
    """Return the positions, limited to where the other run has ended."""
    return {name: _earlier(source, position, other[name]) for name, position in at.items()}


def has_met(other: Mapping[str, Position], source: Source, at: Mapping[str, Position]) -> bool:
    """Whether exactly the rows that the other run has read are read."""
    return has_passed(other, source, at) and all(
        has_reached(source, position, at[name]) for name, position in other.items()
    )


def has_passed(positions: Mapping[str, Position], source: Source, at: Mapping[str, Position]) -> bool:
    """Whether all rows before some positions are before the others, too."""
    return all(name in at and has_reached(source, at[name], end) for name, end in positions.items())


def has_reached(source: Source, at: Position, end: Position) -> bool:
    """Whether a position is at the other one, or after it."""
    return at == end or _earlier(source, at, end) == end


def _earlier(source: Source, first: Position, second: Position) -> Position:
    assert isinstance(source, HasEnd)
    return source.earlier(first, second)
