"""`python -m benchmarks.bad_data_check`: what it costs that a record must fit every declared column.

Plays Nexmark queries over JSON by turns in one warm session, with `bad_data.check` at its default and at
`used_columns`, and prints the ratio of the CPU seconds of all processes.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.nexmark.__main__ import CACHE, Peer
from benchmarks.nexmark.events import Events
from benchmarks.nexmark.queries import QUERIES, queries_of

CHECKS = ("all_columns", "used_columns")


def main(arguments: Sequence[str]) -> int:
    """Play each query once to warm up, then in rounds, and print the medians."""
    parser = argparse.ArgumentParser("python -m benchmarks.bad_data_check", description=__doc__)
    parser.add_argument("--queries", type=queries_of, default=("q2", "q5", "q8"), help="names with commas")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    events = Events(CACHE / "bench", options.events, 4)
    peer = Peer.start("ours", Path(tempfile.mkdtemp(prefix="bad-data-check-")) / "ours.log", "json")
    try:
        for query in options.queries:
            compare(peer, events, query, options.rounds)
    finally:
        peer.side.end()
    return 0


def compare(peer: Peer, events: Events, query: str, rounds: int) -> None:
    """Print the CPU seconds of a query with each check, and the ratio of each round."""
    turn = events.turn(query, QUERIES[query].tables, fuse=True)
    plays: dict[str, list[float]] = {check: [] for check in CHECKS}
    for _ in range(1 + rounds):
        for check in CHECKS:
            played, play = peer.play(replace(turn, check=check))
            if played.error:
                raise SystemExit(f"{query}, {check}: {played.error}")
            plays[check].append(play.cpu)
    every, used = (plays[check][1:] for check in CHECKS)
    ratios = [one / other for one, other in zip(every, used, strict=True)]
    print(
        f"{query:4} all_columns {statistics.median(every):6.2f} CPU s, used_columns {statistics.median(used):6.2f}, "
        f"ratio {statistics.median(ratios):.2f} ({' '.join(f'{ratio:.2f}' for ratio in ratios)})",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
