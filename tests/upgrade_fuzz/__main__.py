"""Edits running queries: `python -m tests.upgrade_fuzz [--cases N] [--seed N]`; ends with 1 when any plan was wrong."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.upgrade_fuzz.story import DifferenceError, Story


def main() -> int:
    """Play stories until so many edits were made, and print every difference as it is found."""
    from engine.spark.jvm.session import close_session, gateway_of_session, open_session

    parser = argparse.ArgumentParser(prog="python -m tests.upgrade_fuzz")
    parser.add_argument("--cases", type=int, default=1000, help="how many edits are made, at least")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    chosen = parser.parse_args()
    edits = wrong = 0
    seed, began = chosen.seed, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        spark = open_session(app_name="upgrades", master="local[2]", parallelism=1, quick=True, log_dir=Path(folder))
        while edits < chosen.cases:
            story = Story(spark, Path(folder) / str(seed), seed)
            try:
                story.play()
            except DifferenceError as difference:
                wrong += 1
                print(f"{difference}\n", flush=True)  # noqa: T201 - what whoever calls it has to look at
                if death := gateway_of_session().death():
                    print(f"{death}\n{_count(edits, chosen.seed, seed, began, wrong)}")  # noqa: T201
                    return 1
            shutil.rmtree(story.folder, ignore_errors=True)
            edits, seed = edits + story.edits, seed + 1
            if seed % 10 == 0:
                print(_count(edits, chosen.seed, seed, began, wrong), flush=True)  # noqa: T201
        close_session(spark)
    print(_count(edits, chosen.seed, seed, began, wrong))  # noqa: T201
    return 1 if wrong else 0


def _count(edits: int, first: int, following: int, began: float, wrong: int) -> str:
    took = time.monotonic() - began
    return f"{edits} edits of seeds {first} to {following - 1} in {took:.0f} s: {wrong} stories differ"


if __name__ == "__main__":
    sys.exit(main())
