"""`python -m benchmarks.nexmark`: each query by turns on both sides, the medians of five rounds and their ratio."""

from __future__ import annotations

import os
import statistics
import sys
from pathlib import Path

from benchmarks.data import FILES, ROWS_PER_FILE, make_bids
from benchmarks.queries import OURS
from benchmarks.sides import Side

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
GOAL = 1.15


def main() -> int:
    """Print a line per query; the exit code says whether all are within the goal."""
    folder = make_bids(Path(__file__).parent.parent / ".cache" / "bench")
    sides = {name: Side.start("benchmarks.side", name, str(folder)) for name in ("ours", "plain")}
    print(f"{FILES * ROWS_PER_FILE:,} bids as JSON; seconds, median of {ROUNDS} rounds by turns, after one to warm up")
    print(f"{'query':8}{'ours':>9}{'plain':>9}{'ratio':>8}   (ratios of the rounds)")
    worst = 0.0
    for query in OURS:
        _round(sides, query)
        rounds = [_round(sides, query) for _ in range(ROUNDS)]
        engine_seconds, plain_seconds = (
            statistics.median(seconds[name] for seconds in rounds) for name in ("ours", "plain")
        )
        listing = " ".join(f"{seconds['ours'] / seconds['plain']:.2f}" for seconds in rounds)
        worst = max(worst, engine_seconds / plain_seconds)
        print(
            f"{query:8}{engine_seconds:9.2f}{plain_seconds:9.2f}{engine_seconds / plain_seconds:8.2f}   ({listing})",
            flush=True,
        )
    for side in sides.values():
        side.end()
    print(f"worst ratio {worst:.2f}, goal {GOAL}")
    return 0 if worst <= GOAL else 1


def _round(sides: dict[str, Side], query: str) -> dict[str, float]:
    return {name: float(side.ask(query)) for name, side in sides.items()}


if __name__ == "__main__":
    sys.exit(main())
