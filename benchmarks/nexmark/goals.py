"""What is asked of ours, and what the results say of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.nexmark.arroyo import ARROYO, ratio_to_arroyo
from benchmarks.nexmark.measured import Result, geometric_mean
from benchmarks.nexmark.queries import NINE
from benchmarks.nexmark.ratios import ratio_of

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
        return f"{self.figure} / {self.peer}, {'geometric mean' if self.is_mean else 'worst'} of {names}"

    def value(self, results: Sequence[Result], ours: str) -> float | None:
        """What it is; None where a query has not been measured."""
        ratios = [self._ratio(results, query, ours) for query in self.queries]
        known = [ratio for ratio in ratios if ratio is not None]
        if len(known) < len(ratios):
            return None
        return geometric_mean(known) if self.is_mean else max(known)

    def _ratio(self, results: Sequence[Result], query: str, ours: str) -> float | None:
        if self.peer == ARROYO:
            return ratio_to_arroyo(results, query, ours)
        return ratio_of(results, query, ours, self.peer, self.figure)


GOALS = (
    Goal("spark", NINE, 0.60, 0.40, is_mean=True),
    Goal("spark", NINE, 0.9, 0.6),
    Goal("flink", _SINGLE, 0.6, 0.4),
    Goal("flink", ("q5",), 0.9, 0.6),
    Goal("flink", ("q3", "q8"), 1.2, 1.0),
    Goal(ARROYO, ("q0", "q1", "q2", "q7", "q12"), 1.0, 0.8),
    Goal(ARROYO, ("q5",), 1.5, 1.0),
    Goal(ARROYO, ("q3", "q8"), 4.0, 2.0),
    Goal("flink", NINE, 1.0, 0.7, is_mean=True, figure="wall"),
    Goal("duckdb", _SINGLE, 4.0, 2.5),
)
