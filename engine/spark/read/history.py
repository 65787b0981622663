"""Progress of a table in the range of a backfill, as its offsets record it. Pure.

    offset 1     history up to p0 at 9 and p1 at 4, of rows since 00:00; nothing is read yet
    offset 2     p0 to 9, p1 to 2, no watermark: windows close only after all of the history is read
    offset 3     p0 to 9, p1 to 4: the history is read
    then either  the run ends: offset 3 is the last, and its watermark the end of time
    or           it continues: offset 4 marks the end of the history; p0 and p1 are read on from 9 and 4, with the
                 watermark that their rows have reached

All of it is in the offset log, so a run that was killed continues from there. See
docs/decisions/history-has-no-late-rows.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from engine.connectors.base import HasEnd, Json, Position, Source


@dataclass(frozen=True, slots=True)
class History:
    """Rows with `since` <= event time < `until`, in microseconds, up to the positions `ends`; None where the source
    ends by itself. `is_over` once an epoch after the history has been planned."""

    since: int | None = None
    until: int | None = None
    stop: tuple[tuple[str, int], ...] = ()
    goes_on: bool = False
    ends: Mapping[str, Position] | None = None
    is_over: bool = False

    def to_json(self) -> dict[str, Json]:
        """Return the entry of the offset log."""
        return {
            "since": self.since,
            "until": self.until,
            "stop": dict(self.stop),
            "goes_on": self.goes_on,
            "ends": None if self.ends is None else dict(self.ends),
            "over": self.is_over,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Json]) -> History:
        """Read the range from the offset log."""
        return cls(
            since=content["since"],  # type: ignore[arg-type]
            until=content["until"],  # type: ignore[arg-type]
            stop=tuple(sorted(content["stop"].items())),  # type: ignore[arg-type, union-attr]
            goes_on=bool(content["goes_on"]),
            ends=content["ends"],  # type: ignore[arg-type]
            is_over=bool(content["over"]),
        )

    def asks_the_same(self, other: History) -> bool:
        """Whether both ask for the same rows, whatever their progress."""
        return replace(self, ends=None, is_over=False) == replace(other, ends=None, is_over=False)


def begun(history: History, source: Source, begins: Mapping[str, Position]) -> History:
    """Return the backfill range of a source that starts there, with the current end positions."""
    return replace(history, ends=source.ends_now(begins, dict(history.stop))) if isinstance(source, HasEnd) else history


def is_read(history: History, source: Source, at: Mapping[str, Position]) -> bool:
    """Whether all of the range lies before these positions."""
    if history.ends is None:
        return source.bounded and all(source.is_finished(name, position) for name, position in at.items())
    return all(_has_reached(source, at.get(name), end) for name, end in history.ends.items())


def unread(history: History, source: Source, at: Mapping[str, Position]) -> Mapping[str, Position]:
    """Return the positions of the partitions that have unread rows in the range. A partition that has appeared since
    waits."""
    if history.ends is None:
        return at
    return {name: at[name] for name, end in history.ends.items() if not _has_reached(source, at[name], end)}


def within(history: History, source: Source, at: Mapping[str, Position]) -> Mapping[str, Position]:
    """Return the positions, limited to the end of the range."""
    if history.ends is None:
        return at
    assert isinstance(source, HasEnd)
    return {name: source.earlier(position, history.ends[name]) for name, position in at.items()}


def _has_reached(source: Source, at: Position, end: Position) -> bool:
    assert isinstance(source, HasEnd)
    return source.earlier(at, end) == end
