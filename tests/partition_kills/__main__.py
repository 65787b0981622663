"""Play it for as many kills as you like: `python -m tests.partition_kills --kills 100 --seed 7`."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests.partition_kills.play import play

parser = argparse.ArgumentParser("python -m tests.partition_kills", description=__doc__)
parser.add_argument("--kills", type=int, default=100)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--folder", type=Path, help="an empty one, which is left; without it, one that is gone afterwards")
options = parser.parse_args()

with tempfile.TemporaryDirectory() as scratch:
    for name, counts in play(options.folder or Path(scratch), options.kills, options.seed).items():
        print(f"{name:9}", ", ".join(f"{count} {what}" for what, count in sorted(counts.items())), flush=True)  # noqa: T201
