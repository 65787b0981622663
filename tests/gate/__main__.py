"""Holds the gate at many random moments: `python -m tests.gate [--moments N] [--seed N]`.

It ends with 1 when a promise was broken. A line after each play says how far it is.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.gate.judge import faults
from tests.gate.plays import STEPS, play_random
from tests.gate.shapes import PIPELINES, SHAPES


def main() -> int:
    """Play until there were that many moments of each shape, and print every fault as it is found."""
    from engine.spark.jvm.session import close_session, open_session

    parser = argparse.ArgumentParser(prog="python -m tests.gate")
    parser.add_argument(
        "--moments", type=int, default=500, help="at how many moments each shape is looked at, at least"
    )
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    chosen = parser.parse_args()
    counts, wrong, seed, began = dict.fromkeys(PIPELINES, 0), 0, chosen.seed, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        spark = open_session(app_name="gate", master="local[2]", parallelism=1, quick=True, log_dir=Path(folder))
        spark.conf.set("spark.sql.codegen.wholeStage", "false")
        spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        while min(counts.values()) < chosen.moments:
            for name, pipeline in PIPELINES.items():
                place = Path(folder) / f"{name}{seed}"
                play = play_random(spark, pipeline, place, seed, min(STEPS, chosen.moments))
                for text in faults(play):
                    wrong += 1
                    print(f"seed {seed}, {name}, {dict(play.policies)}: {text}", flush=True)  # noqa: T201
                counts[name] += len(play.promises)
                print(f"seed {seed}, {name}: {len(play.promises)} moments", flush=True)  # noqa: T201
                shutil.rmtree(place, ignore_errors=True)
            took = f"{time.monotonic() - began:.0f} s"
            print(f"{min(counts.values())} moments of {len(SHAPES)} outputs in {took}: {wrong} wrong", flush=True)  # noqa: T201
            seed += 1
        close_session(spark)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
