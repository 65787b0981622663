"""`make bench`: each query by turns on both sides, the medians of five rounds and their ratio."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks.data import FILES, ROWS_PER_FILE, make_bids
from benchmarks.queries import OURS

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
GOAL = 1.15


def main() -> int:
    """Print a line per query; the exit code says whether all are within the goal."""
    folder = make_bids(Path(__file__).parent.parent / ".cache" / "bench")
    sides = {name: _start(name, folder) for name in ("ours", "plain")}
    print(f"{FILES * ROWS_PER_FILE:,} bids as JSON; seconds, median of {ROUNDS} rounds by turns, after one to warm up")
    print(f"{'query':8}{'ours':>9}{'plain':>9}{'ratio':>8}   (ratios of the rounds)")
    worst = 0.0
    for query in OURS:
        _round(sides, query)
        rounds = [_round(sides, query) for _ in range(ROUNDS)]
        mine, plain = (statistics.median(one[name] for one in rounds) for name in ("ours", "plain"))
        each = " ".join(f"{one['ours'] / one['plain']:.2f}" for one in rounds)
        worst = max(worst, mine / plain)
        print(f"{query:8}{mine:9.2f}{plain:9.2f}{mine / plain:8.2f}   ({each})", flush=True)
    for side in sides.values():
        if side.stdin:
            side.stdin.close()
        side.wait()
    print(f"worst ratio {worst:.2f}, goal {GOAL}")
    return 0 if worst <= GOAL else 1


def _start(name: str, folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.side", name, str(folder)]
    side = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1
    )
    _read(side)
    return side


def _round(sides: dict[str, subprocess.Popen[str]], query: str) -> dict[str, float]:
    return {name: float(_ask(side, query)) for name, side in sides.items()}


def _ask(side: subprocess.Popen[str], query: str) -> str:
    if side.stdin is None:
        raise AssertionError
    side.stdin.write(query + "\n")
    side.stdin.flush()
    return _read(side)


def _read(side: subprocess.Popen[str]) -> str:
    line = side.stdout.readline() if side.stdout else ""
    if not line:
        raise SystemExit(f"a side of the benchmark ended: {side.args}")
    return line


if __name__ == "__main__":
    sys.exit(main())
