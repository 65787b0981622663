"""`python -m benchmarks.fuse [FILES [ROUNDS [QUERY ...]]]`: what it saves that the tasks of sources do what they can.

Files of half a million bids as JSON, each an epoch, into nothing; the same query by turns with `fuse` off and on, in
one warm session. What counts are the CPU seconds of all processes.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from benchmarks.data import ROWS_PER_FILE, make_bids
from benchmarks.process_tree import ProcessTree
from benchmarks.queries import OURS, SOURCE
from engine.spark.jvm.session import open_session
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.spark.run.stop_control import Control

PARALLELISM = 2
QUERIES: Mapping[str, str] = {
    "q0": OURS["q0"],
    "q2": OURS["q2"],
    "file": """
        CREATE TABLE file WITH (
          connector = 'filesystem', path = '{scratch}/out', format = 'json', type = 'sink'
        );
        INSERT INTO file SELECT auction, bidder, 0.908 * price AS price, datetime FROM bids WHERE auction % 2 = 0;
    """,
    "few": """
        INSERT INTO nowhere
        SELECT bidder, tumble(INTERVAL '10 seconds') AS window, count(*) AS bids
        FROM bids WHERE channel = 'Apple' AND price > 5000000 GROUP BY bidder, window;
    """,
    "count": """
        INSERT INTO nowhere
        SELECT bidder, tumble(INTERVAL '10 seconds') AS window, count(*) AS bids FROM bids GROUP BY bidder, window;
    """,
    "hop": """
        INSERT INTO nowhere
        SELECT auction, hop(INTERVAL '2 seconds', INTERVAL '10 seconds') AS window, count(*) AS bids
        FROM bids GROUP BY auction, window;
    """,
    "session": """
        INSERT INTO nowhere
        SELECT bidder, session(INTERVAL '10 seconds') AS window, count(*) AS bids FROM bids GROUP BY bidder, window;
    """,
    "group": "INSERT INTO nowhere SELECT bidder, count(*) AS bids, sum(price) AS total FROM bids GROUP BY bidder;",
    "max": """
        INSERT INTO nowhere
        SELECT tumble(INTERVAL '10 seconds') AS window, max(price) AS price, count(*) AS bids FROM bids GROUP BY window;
    """,
    "all": "INSERT INTO nowhere SELECT auction, price, extra FROM bids WHERE price > 0;",
}
"""Without a filter; one row in 123; every second row into files; one in 12, counted by window and key; all of them
counted by window and key, by overlapping windows and key, by session and key, by key, by window alone; all rows,
whatever the filter asks."""


def main() -> None:
    """Print a line per query: medians of the rounds after one to warm up, and their ratio."""
    files, rounds = (int(text) for text in [*sys.argv[1:3], *("4", "3")[len(sys.argv[1:3]) :]])
    folder = make_bids(Path(__file__).parent.parent / ".cache" / "bench", files)
    scratch = Path(tempfile.mkdtemp(prefix="fuse-"))
    spark = open_session(app_name="fuse", log_dir=scratch, master=f"local[{PARALLELISM}]", parallelism=PARALLELISM)

    tree = ProcessTree(os.getpid())

    def run(query: str, *, fuse: bool) -> float:
        state, before = scratch / "state", tree.cpu_seconds()
        shutil.rmtree(state, ignore_errors=True)
        shutil.rmtree(scratch / "out", ignore_errors=True)
        script = SOURCE.format(folder=folder) + QUERIES[query].replace("{scratch}", str(scratch))
        spec = RunSpec(
            query,
            script,
            state,
            parallelism=PARALLELISM,
            settings=replace(PLAIN_SETTINGS, max_epoch_rows=ROWS_PER_FILE, fuse=fuse),
        )
        with tree.watched():
            run_in(spark, spec, Control())
        return tree.cpu_seconds() - before

    print(f"{files * ROWS_PER_FILE:,} bids; CPU seconds, medians of {rounds} rounds", flush=True)
    for query in sys.argv[3:] or QUERIES:
        pairs = [(run(query, fuse=False), run(query, fuse=True)) for _ in range(rounds + 1)][1:]
        off, on = (statistics.median(pair[side] for pair in pairs) for side in (0, 1))
        print(f"{query:8}{off:9.2f}{on:9.2f}{on / off:8.2f}", flush=True)
    shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
