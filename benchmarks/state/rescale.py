"""`python -m benchmarks.state rescale`: another number of tasks for a state, beside a copy of its files.

A state of the wanted size is built first: a text of 256 characters for each key, which does not compress. Then the
files of its newest epoch are copied, durably, and it is laid out anew as a driver does it. In the end a run goes on
from it, so that what was laid out is of use.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.process_tree import ProcessTree
from benchmarks.updating import peak_memory
from engine.checkpoints import manifest, spark_log
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.rescale import repartition
from engine.spark.jvm.session import close_session, leave_state, open_session
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.spark.run.stop_control import Control
from engine.values.epoch_report import EpochReport

_TABLES = """
CREATE TABLE impulse WITH (connector = 'impulse', event_rate = '1e9', message_count = '{rows}',
  event_time_interval = '1 microsecond', start_time = '2026-01-01T00:00:00Z');
CREATE TABLE nowhere WITH (connector = 'blackhole');
CREATE VIEW texts AS SELECT counter % {keys} AS key, concat(encode(sha256(concat('a', counter)), 'hex'),
  encode(sha256(concat('b', counter)), 'hex'), encode(sha256(concat('c', counter)), 'hex'),
  encode(sha256(concat('d', counter)), 'hex')) AS text FROM impulse;
"""
SHAPES: Mapping[str, str] = {
    "updating": "INSERT INTO nowhere SELECT key, max(text) FROM texts GROUP BY key;",
    "tumble": "INSERT INTO nowhere SELECT tumble(INTERVAL '1000 days') AS w, key, max(text) FROM texts GROUP BY 1, 2;",
}
_ROW_BYTES = {"updating": 560, "tumble": 330}
"""About what a key, its text and its place take in the files of a state; an updating aggregate keeps the row that it
has given out as well."""
_EPOCHS = 16
"""In so many the state is built."""


@dataclass(frozen=True, slots=True)
class Size:
    """How large the state is to be, and from how many tasks it goes to how many."""

    megabytes: int
    before: int
    after: int

    def keys(self, shape: str) -> int:
        """How many make a state of that size."""
        return max(1_000, self.megabytes * 2**20 // _ROW_BYTES[shape])

    def per_epoch(self, shape: str) -> int:
        """How many rows there are in an epoch."""
        return self.keys(shape) // _EPOCHS

    def rows(self, shape: str) -> int:
        """How many there are in all: enough for some epochs when the state was laid out anew."""
        return self.keys(shape) + 4 * self.per_epoch(shape)


Sessions = Callable[[int, bool], AbstractContextManager[SparkSession]]
"""Opens a session with so many partitions, and says whether it is one for a short time."""


def play(shape: str, size: Size) -> Mapping[str, float]:
    """Build, copy, lay out and go on, in this process."""
    scratch = Path(tempfile.mkdtemp(prefix="state-"))

    @contextmanager
    def session(tasks: int, is_short: bool) -> Iterator[SparkSession]:
        master = "local[*]" if is_short else "local[2]"
        spark = open_session(app_name="rescale", log_dir=scratch, master=master, parallelism=tasks, quick=is_short)
        try:
            yield spark
        finally:
            close_session(spark)

    try:
        return play_in(session, scratch, shape, size)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def play_in(sessions: Sessions, scratch: Path, shape: str, size: Size) -> Mapping[str, float]:
    """The same with sessions of others, in a folder of its own."""
    paths = StatePaths(scratch / "state")
    with sessions(size.before, False) as spark:
        read = _run(spark, shape, size, paths, size.before, until=size.keys(shape))
    copied = _copy(paths, scratch / "copy")
    shutil.rmtree(scratch / "copy")
    laid_out = _lay_out(sessions, paths, size.after)
    with sessions(size.after, False) as spark:
        read += _run(spark, shape, size, paths, size.after, until=size.rows(shape))
    if read != size.rows(shape):
        raise RuntimeError(f"{read} rows were read before and after, and there are {size.rows(shape)}")
    ratio = round((laid_out["rescale s"] - laid_out["start of Java s"]) / copied["copy s"], 1)
    return {"keys": size.keys(shape), **copied, **laid_out, "without the start, of copying": ratio}


def _run(spark: SparkSession, shape: str, size: Size, paths: StatePaths, tasks: int, *, until: int) -> int:
    """Run until so many rows are read, or an epoch more; how many were."""
    sql = (_TABLES + SHAPES[shape]).format(rows=size.rows(shape), keys=size.keys(shape))
    control, read = Control(), 0

    def note(report: EpochReport) -> None:
        nonlocal read
        read += report.rows_in
        if read >= until:
            control.stop("checkpoint")

    spec = RunSpec(
        "rescaled",
        sql,
        paths.root,
        parallelism=tasks,
        settings=replace(PLAIN_SETTINGS, max_epoch_rows=size.per_epoch(shape)),
    )
    run_in(spark, spec, control, note)
    leave_state(spark)
    return read


def _copy(paths: StatePaths, target: Path) -> Mapping[str, float]:
    """Copy the files of the newest epoch."""
    epoch = spark_log.newest_commit(paths.checkpoint)
    assert epoch is not None
    files = list(manifest.files_of(paths.checkpoint, epoch))
    size = sum((paths.checkpoint / file).stat().st_size for file in files)
    began = time.monotonic()
    for file in files:
        (target / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(paths.checkpoint / file, target / file)
        with (target / file).open("rb") as copied:
            os.fsync(copied.fileno())
    return {"state MB": round(size / 2**20, 1), "copy s": round(time.monotonic() - began, 2)}


def _lay_out(sessions: Sessions, paths: StatePaths, tasks: int) -> Mapping[str, float]:
    """Have the next run use so many tasks, as a driver does it: Java is started for it."""
    tree, start = ProcessTree(os.getpid()), 0.0
    before = tree.cpu_seconds()
    with tree.watched(), ExitStack() as opened:
        began = time.monotonic()

        def open_spark() -> SparkSession:
            nonlocal start
            spark = opened.enter_context(sessions(tasks, True))
            start = time.monotonic() - began
            return spark

        repartition(paths.root, tasks, open_spark)
        seconds, cpu = time.monotonic() - began, tree.cpu_seconds() - before
        java, _ = peak_memory(tree)
    return {
        "rescale s": round(seconds, 2),
        "start of Java s": round(start, 2),
        "rescale CPU s": round(cpu, 1),
        "Java MB": java,
    }
