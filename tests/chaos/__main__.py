"""`python -m tests.chaos SINK`: kills, zombies, and a checker whose answer is the last line and the exit code."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from tests.chaos.loop import Wanted, line_of, opened
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
    given = parser.parse_args()
    kind = TARGETS[given.sink]
    zombies = given.cycles // 2 if given.zombies is None else given.zombies
    zombies = zombies if kind.has_zombies else 0
    wanted = Wanted(
        given.cycles, zombies, given.events, given.seed, given.epoch_rows, given.ledger == "off", given.minutes
    )
    root = given.root or Path(tempfile.mkdtemp(prefix="chaos-"))
    with opened(kind, root, wanted) as loop:
        verdict = loop.run()
    is_good = verdict.is_clean and not loop.troubles
    ends = ", ".join(f"{count} {how}" for how, count in sorted(loop.ends.items()))
    kept = [] if is_good else [f"what was left is in {root}"]
    said = [f"{given.sink}, seed {given.seed}: {ends}", *loop.troubles, *kept, line_of(loop, verdict)]
    print("\n".join(said), flush=True)  # noqa: T201 - it is what one waits for
    if given.root is None and is_good:
        shutil.rmtree(root)
    return 0 if is_good else 1


if __name__ == "__main__":
    raise SystemExit(main())
