"""`python -m tests.chaos SINK`: kills, zombies, and a checker whose answer is the last line and the exit code."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from tests.chaos.loop import LoopSettings, line_of, opened
from tests.chaos.targets import TARGETS


def main() -> int:
    """Run one loop."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("sink", choices=sorted(TARGETS))
    parser.add_argument("--cycles", type=int, default=10, help="how many drivers are killed; half as many are zombies")
    parser.add_argument("--zombies", type=int, help="how many drivers are paused, replaced and woken up")
    parser.add_argument("--events", type=int, default=0, help="at least so many")
    parser.add_argument("--epoch-rows", type=int, default=1500, help="about so many in an epoch")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ledger", choices=["on", "off"], default="on", help="off: the loop has to find that")
    parser.add_argument("--minutes", type=float, default=24 * 60, help="no cycle begins after so many")
    parser.add_argument("--root", type=Path, help="where to work; kept afterwards")
    options = parser.parse_args()
    kind = TARGETS[options.sink]
    zombies = options.cycles // 2 if options.zombies is None else options.zombies
    zombies = zombies if kind.has_zombies else 0
    settings = LoopSettings(
        options.cycles,
        zombies,
        options.events,
        options.seed,
        options.epoch_rows,
        options.ledger == "off",
        options.minutes,
    )
    root = options.root or Path(tempfile.mkdtemp(prefix="chaos-"))
    with opened(kind, root, settings) as loop:
        verdict = loop.run()
    is_good = verdict.is_clean and not loop.troubles
    ends = ", ".join(f"{count} {how}" for how, count in sorted(loop.ends.items()))
    hints = [] if is_good else [f"what was left is in {root}"]
    lines = [f"{options.sink}, seed {options.seed}: {ends}", *loop.troubles, *hints, line_of(loop, verdict)]
    print("\n".join(lines), flush=True)  # noqa: T201 - it is what one waits for
    if options.root is None and is_good:
        shutil.rmtree(root)
    return 0 if is_good else 1


if __name__ == "__main__":
    raise SystemExit(main())
