"""What is asked of ours, and what the results say of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.nexmark.measured import Result, geometric_mean
from benchmarks.nexmark.queries import NINE

_SINGLE = ("q0", "q1", "q2", "q7", "q11", "q12")
"""Queries of one operator over bids."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A ratio of ours to a peer, the worst of some queries or their geometric mean: what it must be, and should be."""

    peer: str
    queries: tuple[str, ...]
    must: float
    goal: float
    is_mean: bool = False
    figure: str = "cpu"

    @property
    def title(self) -> str:
        """What is compared."""
        names = "the nine" if self.queries == NINE else " ".join(self.queries)
        return f"{self.figure} by {self.peer}, {'geometric mean' if self.is_mean else 'worst'} of {names}"

    def value(self, results: Sequence[Result], ours: str) -> float | None:
        """What it is; None where a query has not been measured."""
        ratios = [ratio_of(results, query, ours, self.peer, self.figure) for query in self.queries]
        known = [ratio for ratio in ratios if ratio is not None]
        if len(known) < len(ratios):
            return None
        return geometric_mean(known) if self.is_mean else max(known)


GOALS = (
    Goal("spark", NINE, 0.60, 0.40, is_mean=True),
    Goal("spark", NINE, 0.9, 0.6),
    Goal("flink", _SINGLE, 0.6, 0.4),
    Goal("flink", ("q5",), 0.9, 0.6),
    Goal("flink", ("q3", "q8"), 1.2, 1.0),
    Goal("flink", NINE, 1.0, 0.7, is_mean=True, figure="wall"),
    Goal("duckdb", _SINGLE, 4.0, 2.5),
)


def newest_with(results: Sequence[Result], query: str, *peers: str) -> Result | None:
    """Of results from the oldest to the newest, the last in which all of these have played the query."""
    fitting = (result for result in reversed(results) if all(result.plays.get(query, {}).get(peer) for peer in peers))
    return next(fitting, None)


def ratio_of(results: Sequence[Result], query: str, ours: str, peer: str, figure: str = "cpu") -> float | None:
    """Ours by a peer, as the newest result says that has both."""
    result = newest_with(results, query, ours, peer)
    return result.ratio(query, ours, peer, figure) if result else None
