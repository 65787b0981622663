"""`python -m benchmarks.state [KEYS,KEYS,...]`: throughput and memory by the number of keys in state.

An updating aggregate and windows by key. First comes every key once, then epochs of rows of random keys, the last ten
of which are measured; each size in a process of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.keyed import SHAPES, play, write_rows

PER_EPOCH, EPOCHS, MEASURED = 100_000, 15, 10
GOAL = 0.5
"""The rows per CPU second with the most keys, of those with the fewest."""


def side(shape: str, keys: int) -> None:
    """One run; a line of JSON says what it came to."""
    scratch = Path(tempfile.mkdtemp(prefix="state-"))
    chance = np.random.default_rng(7)
    write_rows(scratch / "rows.json", np.concatenate([np.arange(keys), chance.integers(0, keys, PER_EPOCH * EPOCHS)]))
    moments = play(shape, scratch / "rows.json", scratch, PER_EPOCH)
    steady = [pair for pair in pairwise(moments) if pair[1].rows == PER_EPOCH][-MEASURED:]
    result = {
        "shape": shape,
        "keys": keys,
        "rows per cpu second": round(PER_EPOCH / median(after.cpu - before.cpu for before, after in steady)),
        "rows per second": round(PER_EPOCH / median(after.wall - before.wall for before, after in steady)),
        "java peak MB": moments[-1].java_mb,
        "python worker peak MB": moments[-1].worker_mb,
        "load": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(result), flush=True)
    shutil.rmtree(scratch, ignore_errors=True)
    os._exit(0)


def main(sizes: list[int]) -> int:
    """Print a line for each; the exit code says whether the most keys are within the goal."""
    is_reached = True
    for shape in SHAPES:
        rates: list[float] = []
        for keys in sizes:
            command = [sys.executable, "-m", "benchmarks.state.keys", shape, str(keys)]
            line = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[-1]
            print(line, flush=True)
            rates.append(json.loads(line)["rows per cpu second"])
        is_reached = is_reached and rates[-1] >= GOAL * rates[0]
        print(f"{shape}: {rates[-1] / rates[0]:.2f} of the rows per CPU second, goal {GOAL}", flush=True)
    return 0 if is_reached else 1


if __name__ == "__main__":
    side(sys.argv[1], int(sys.argv[2]))
