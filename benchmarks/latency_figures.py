"""From what was produced and what was seen to latencies; the arithmetic of `benchmarks.latency`.

produced        an event every millisecond from 100.000 on
a row           of the event of 100.002, seen at 100.300            298 ms
a window        that ends at 100.010, seen at 101.000               its last row might be of 100.009: the event of
                                                                    100.010 shows that it is over, 990 ms before
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SeenRow:
    """A row of the output: the instant that it tells, when its event was produced or its window ends, and when a reader
    had it. Seconds since 1970."""

    instant: float
    seen: float


@dataclass(frozen=True, slots=True)
class Latencies:
    """How many there are, and what half and 99 of 100 are not above, in seconds."""

    count: int
    p50: float
    p99: float


def row_latencies(rows: Iterable[SeenRow], since: float) -> list[float]:
    """From each event to its row, of the events from an instant on."""
    return [row.seen - row.instant for row in rows if row.instant >= since]


def window_latencies(rows: Iterable[SeenRow], produced: Sequence[float], since: float) -> list[float]:
    """From the first event that shows that a window is over to the first row of that window, for those that end from an
    instant on. `produced` is in order; a window after the last event is left out."""
    first: dict[float, float] = {}
    for row in rows:
        first[row.instant] = min(row.seen, first.get(row.instant, math.inf))
    shown = {end: bisect_left(produced, end) for end in first if end >= since}
    return [first[end] - produced[index] for end, index in shown.items() if index < len(produced)]


def summarize(latencies: Sequence[float]) -> Latencies:
    """The percentiles of at least one latency."""
    ordered = sorted(latencies)
    return Latencies(len(ordered), _percentile(ordered, 0.50), _percentile(ordered, 0.99))


def _percentile(ordered: Sequence[float], share: float) -> float:
    """The least value that this share of all is not above."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
