"""How fast a job reads: the rows of an epoch by the time between its commit and the commit before, everywhere.

The time that an epoch took to compute says nothing of it: a source of 500 rows a second is read in a third of a second.

committed at 10:00:00, and at 10:00:02 with 100 rows      asked at 10:00:03    50 rows a second
the same                                                  asked at 10:00:12    10: nothing has followed for 10 s
a single epoch                                            not known
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class EpochRows:
    """When an epoch was committed, and how many rows were read for it."""

    at: datetime
    rows_in: int


def rows_per_second(newest: Sequence[EpochRows], now: datetime) -> float | None:
    """The rows of the newest epoch, for each second since the epoch before, or since it was committed if that is
    longer; `newest` are the two newest, newest first. None while there are no two."""
    if len(newest) < 2:
        return None
    last, before = newest[0], newest[1]
    return rate(last.rows_in, max(last.at - before.at, now - last.at))


def rate(rows: int, between: timedelta | None) -> float | None:
    """Return the rows for each second between two commits; None if there was no commit before, or no time between."""
    seconds = 0.0 if between is None else between.total_seconds()
    return round(rows / seconds, 1) if seconds > 0 else None
