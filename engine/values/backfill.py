"""Backfill range of a run, as users set it. Pure.

from 00:00 to 24:00                   rows of that day, by event time, of all that exists when the run begins;
                                      then the run ends
from 00:00, then_continue             rows since midnight; after the history the run continues with new rows
stop_at orders=offsets:{"0": 9}       the records before number 9 of partition 0 of orders
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from engine.errors import BackfillError, message_of
from engine.values.start_positions import StartPosition, read_starts, read_time


@dataclass(frozen=True, slots=True)
class Backfill:
    """Range of a backfill: the rows with `since` <= event time < `until`, up to the end of each table at the start of
    the run, or up to `stop_at`. A run that `goes_on` then continues with new rows. With `partial_windows`, windows that
    the range cuts through are accepted."""

    since: datetime | None = None
    until: datetime | None = None
    stop_at: Mapping[str, StartPosition] = field(default_factory=dict)
    goes_on: bool = False
    partial_windows: bool = False

    def __post_init__(self) -> None:
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise BackfillError("the range of history is empty: it must end after it begins")
        if self.goes_on and (self.until is not None or self.stop_at):
            raise BackfillError(
                "history that a run goes on from ends where the tables end when the run begins, and nowhere else",
                hint="leave the end out, or do not go on",
            )


def read_backfill(
    since: str | None, until: str | None, stop_at: tuple[str, ...], *, goes_on: bool, partial_windows: bool
) -> Backfill | None:
    """The range that the texts name; None when they name none."""
    if since is None and until is None and not stop_at and not goes_on:
        if partial_windows:
            raise BackfillError("windows are cut only where a range of history is read", hint="say where it begins")
        return None
    stops = read_starts(stop_at, "the end of history of")
    wrong = next((name for name, stop in stops.items() if stop.word != "offsets"), None)
    if wrong is not None:
        raise BackfillError(f"history of {wrong} can end at offsets only, not at {stops[wrong]}")
    return Backfill(_instant(since), _instant(until), stops, goes_on, partial_windows)


def _instant(text: str | None) -> datetime | None:
    try:
        return None if text is None else read_time(text)
    except ValueError as error:
        raise BackfillError(message_of(error)) from error
