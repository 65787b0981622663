"""Runs many cases: `python -m tests.fuzz [--cases N] [--seed N]`; ends with 1 when any gave another answer.

A line every so many queries says how far it is, so that a run that is interrupted still counts.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.plays import compile_little, failures, random_case, with_a_stop

EVERY = 20
"""After how many queries a line says how far the run is."""


def main() -> int:
    """Run the cases, and print every difference as it is found."""
    from engine.spark.jvm.session import close_session, open_session

    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--cases", type=int, default=50, help="how many queries are compared, at least")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    chosen = parser.parse_args()
    count = wrong = milestone = 0
    seed, began = chosen.seed, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        spark = open_session(app_name="fuzz", master="local[2]", parallelism=1, quick=True, log_dir=Path(folder))
        while count < chosen.cases:
            case = with_a_stop(random_case(seed))
            place = Path(folder) / str(seed)
            compile_little(spark, seed)
            for text in failures(spark, case, place):
                wrong += 1
                print(text, flush=True)  # noqa: T201 - what whoever calls it has to look at
            shutil.rmtree(place, ignore_errors=True)
            count, seed = count + len(case.queries), seed + 1
            if count // EVERY > milestone:
                milestone = count // EVERY
                print(_count(count, chosen.seed, seed, began, wrong), flush=True)  # noqa: T201
        close_session(spark)
    print(_count(count, chosen.seed, seed, began, wrong))  # noqa: T201
    return 1 if wrong else 0


def _count(count: int, first: int, following: int, began: float, wrong: int) -> str:
    took = time.monotonic() - began
    return f"{count} queries of seeds {first} to {following - 1} in {took:.0f} s: {wrong} differ"


if __name__ == "__main__":
    sys.exit(main())
