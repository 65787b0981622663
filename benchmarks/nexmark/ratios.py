"""Which of several results says how two sides compare: the newest that has both."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.nexmark.measured import Result


def newest_with(results: Sequence[Result], query: str, *peers: str) -> Result | None:
    """Of results from the oldest to the newest, the last in which all of these have played the query."""
    fitting = (result for result in reversed(results) if all(result.plays.get(query, {}).get(peer) for peer in peers))
    return next(fitting, None)


def ratio_of(results: Sequence[Result], query: str, ours: str, peer: str, figure: str = "cpu") -> float | None:
    """Ours by a peer, as the newest result says that has both."""
    result = newest_with(results, query, ours, peer)
    return result.ratio(query, ours, peer, figure) if result else None
