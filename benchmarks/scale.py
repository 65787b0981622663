"""`make bench-scale`: time against events, start not counted.

`python -m benchmarks.scale [ROWS]`: windows by key over so many rows, four times and sixteen times as many, each in a
process of its own. What is read until the sixtieth epoch is committed is the start: Java compiles what runs often for
about so long.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.keyed import play, write_rows

PER_EPOCH, START, KEYS, TIMES = 50_000, 60, 10_000, (1, 4, 16)
GOAL = 0.10
"""How far the CPU of a row may be from that of the fewest rows."""


def side(rows: int) -> None:
    """One run; a line of JSON says what it came to."""
    scratch = Path(tempfile.mkdtemp(prefix="scale-"))
    keys = np.random.default_rng(7).integers(0, KEYS, rows + START * PER_EPOCH)
    write_rows(scratch / "rows.json", keys)
    moments = play("tumble", scratch / "rows.json", scratch, PER_EPOCH)
    first, last = moments[START - 1], moments[-1]
    result = {
        "rows": rows,
        "cpu seconds": round(last.cpu - first.cpu, 2),
        "seconds": round(last.wall - first.wall, 2),
        "cpu us per row": round((last.cpu - first.cpu) / rows * 1e6, 2),
        "load": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(result), flush=True)
    shutil.rmtree(scratch, ignore_errors=True)
    os._exit(0)


def main(rows: int) -> int:
    """Print a line for each; the exit code says whether all are within the goal."""
    costs: list[float] = []
    for times in TIMES:
        command = [sys.executable, "-m", "benchmarks.scale", "side", str(rows * times)]
        line = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[-1]
        costs.append(json.loads(line)["cpu us per row"])
        print(line, f"ratio of a row's CPU to that of the fewest {costs[-1] / costs[0]:.2f}", flush=True)
    return 0 if all(abs(cost / costs[0] - 1) <= GOAL for cost in costs) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["side"]:
        side(int(sys.argv[2]))
    else:
        sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 500_000))
