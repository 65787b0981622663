"""Rows with keys as JSON lines, and a run over them in a session of its own that says what each epoch took."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.process_tree import ProcessTree
from benchmarks.updating import peak_memory
from engine.spark.jvm.session import open_session
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.spark.run.stop_control import Control
from engine.values.epoch_report import EpochReport

SHAPES: Mapping[str, str] = {
    "updating": "INSERT INTO nowhere SELECT key, count(*), sum(number) FROM rows GROUP BY key;",
    "tumble": "INSERT INTO nowhere SELECT key, tumble(INTERVAL '1 day') AS w, count(*) FROM rows GROUP BY key, w;",
}
"""All rows are of one day, so that no window is closed before the end."""
_TABLES = """
CREATE TABLE rows (ts TIMESTAMP NOT NULL, key BIGINT, number BIGINT, WATERMARK FOR ts)
WITH (connector = 'single_file', path = '{path}', format = 'json', type = 'source');
CREATE TABLE nowhere WITH (connector = 'blackhole');
"""


@dataclass(frozen=True, slots=True)
class Moment:
    """An epoch is committed: how many rows it has read, the time, and the CPU and memory that were used so far."""

    rows: int
    wall: float
    cpu: float
    java_mb: int
    worker_mb: int


def write_rows(path: Path, keys: Sequence[int] | npt.NDArray[np.int64]) -> None:
    """A row for each of the keys."""
    with path.open("w") as file:
        file.writelines(
            f'{{"ts":"2024-01-01T00:00:00Z","key":{key},"number":{place % 1000}}}\n' for place, key in enumerate(keys)
        )


def play(shape: str, path: Path, scratch: Path, per_epoch: int) -> list[Moment]:
    """Run a shape over the rows, so many to an epoch."""
    spark = open_session(app_name="keyed", log_dir=scratch, master="local[1]", parallelism=1)
    moments: list[Moment] = []
    tree = ProcessTree(os.getpid())

    def note(report: EpochReport) -> None:
        moments.append(Moment(report.rows_in, time.monotonic(), tree.cpu_seconds(), *peak_memory(tree)))

    sql = _TABLES.format(path=path) + SHAPES[shape]
    with tree.watched():
        run_in(
            spark,
            RunSpec("keyed", sql, scratch / "state", settings=replace(PLAIN_SETTINGS, max_epoch_rows=per_epoch)),
            Control(),
            note,
        )
    return moments
