"""What updating aggregates cost: count and sum by key with a million keys in state, ten thousand touched per epoch.

`python -m benchmarks.updating [KEYS [ROWS_PER_EPOCH [EPOCHS]]]` prints rows per second, the CPU that they took, and the
most memory that Java and the largest of Spark's Python processes ever held. Medians of the last ten epochs: Java is
still compiling in those before.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.process_tree import ProcessTree
from engine.spark.jvm.session import open_session
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.spark.run.stop_control import Control
from engine.values.epoch_report import EpochReport

_SQL = """
CREATE TABLE rows (ts TIMESTAMP NOT NULL, key BIGINT, number BIGINT, WATERMARK FOR ts)
WITH (connector = 'single_file', path = '{path}', format = 'json', type = 'source');
CREATE TABLE nowhere WITH (connector = 'blackhole');
INSERT INTO nowhere SELECT key, count(*), sum(number) FROM rows GROUP BY key;
"""
_TOUCHED = 10_000
GOAL = 100_000
"""Rows per CPU second."""


def write_rows(path: Path, keys: int, per_epoch: int, epochs: int) -> int:
    """First every key once, then epochs whose rows have ten thousand different keys each; how many rows there are."""
    chance = np.random.default_rng(7)
    parts = [np.arange(keys)]
    parts += [chance.choice(chance.choice(keys, _TOUCHED, replace=False), per_epoch) for _ in range(epochs)]
    numbers = np.concatenate(parts)
    with path.open("w") as file:
        file.writelines(
            f'{{"ts":"2024-01-01T00:00:00Z","key":{key},"number":{place % 1000}}}\n'
            for place, key in enumerate(numbers)
        )
    return len(numbers)


def peak_memory(tree: ProcessTree) -> tuple[int, int]:
    """The most megabytes that Java, and the largest of Spark's Python workers, has held at a time."""
    java, workers = "java", "engine.spark.workers.fork_server"
    peaks = {java: 0, workers: 0}
    for process in tree.numbers():
        entry = Path("/proc") / str(process)
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0")
            lines = (entry / "status").read_text().splitlines()
        except OSError:
            continue
        most = next((int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM")), 0)
        for name, peak in list(peaks.items()):
            if any(part.decode(errors="replace").endswith(name) for part in command[:4]):
                peaks[name] = max(peak, most)
    return peaks[java], peaks[workers]


def main() -> None:
    """Run it once in a folder of its own."""
    keys, per_epoch, epochs = (int(text) for text in [*sys.argv[1:], "1000000", "100000", "40"][:3])
    scratch = Path(tempfile.mkdtemp(prefix="updating-"))
    write_rows(scratch / "rows.json", keys, per_epoch, epochs)
    spark = open_session(app_name="updating", log_dir=scratch, master="local[1]", parallelism=1)
    reports: list[tuple[float, float, EpochReport]] = []
    peaks: list[tuple[int, int]] = []
    tree = ProcessTree(os.getpid())

    def note(report: EpochReport) -> None:
        reports.append((time.monotonic(), tree.cpu_seconds(), report))
        peaks.append(peak_memory(tree))

    spec = RunSpec(
        "updating",
        _SQL.format(path=scratch / "rows.json"),
        scratch / "state",
        settings=replace(PLAIN_SETTINGS, max_epoch_rows=per_epoch),
    )
    with tree.watched():
        run_in(spark, spec, Control(), note)
    steady = [pair for pair in itertools.pairwise(reports) if pair[1][2].rows_in == per_epoch][-10:]
    cpu = median(after[1] - before[1] for before, after in steady)
    wall = median(after[2].duration.total_seconds() for _, after in steady)
    java, python = peaks[-1]
    result = {
        "keys": keys,
        "rows per epoch": per_epoch,
        "epoch seconds": round(wall, 3),
        "cpu seconds per epoch": round(cpu, 3),
        "rows per cpu second": round(per_epoch / cpu),
        "rows per second": round(per_epoch / wall),
        "java peak MB": java,
        "python worker peak MB": python,
    }
    sys.stdout.write(json.dumps(result) + "\n")
    shutil.rmtree(scratch, ignore_errors=True)
    os._exit(0 if per_epoch / cpu >= GOAL else 1)


if __name__ == "__main__":
    main()
