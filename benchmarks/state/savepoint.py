"""`python -m benchmarks.state savepoint`: what epochs take while a savepoint is taken beside them.

A counter brings rows at a steady rate, and each key comes again after all the others. Once every key is in the state,
another process takes a savepoint every few epochs, as a control plane does beside a driver, at no moment of an epoch in
particular. A savepoint from 12.8 to 13.0 lies over the epoch from 12.0 to 12.9, and over that from 13.1 to 13.9 as
well: the first that begins afterwards meets what the disk has still to write. An epoch has the rows of a second at
most, so that epochs are alike where the machine cannot keep up.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from statistics import median

from pyspark.sql import SparkSession

from engine.checkpoints.savepoints import take
from engine.spark.jvm.session import close_session, open_session
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.spark.run.stop_control import Control
from engine.values.durations import DEFAULT_LINGER
from engine.values.epoch_report import EpochReport
from engine.values.instants import now

GOAL = 2.0
"""The longest epoch under a savepoint, of the median of all epochs."""
_TASKS = 2
_COLD = 10
"""Epochs that are not measured at least."""
_TABLES = """
CREATE TABLE impulse WITH (connector = 'impulse', event_rate = '{rate}');
CREATE TABLE nowhere WITH (connector = 'blackhole');
"""
SHAPES: Mapping[str, str] = {
    "updating": "INSERT INTO nowhere SELECT counter % {keys} AS key, count(*), sum(counter) FROM impulse GROUP BY 1;",
    "tumble": "INSERT INTO nowhere SELECT tumble(INTERVAL '1000 days') AS w, counter % {keys} AS key, count(*) "
    "FROM impulse GROUP BY 1, 2;",
}


@dataclass(frozen=True, slots=True)
class Load:
    """Rows per second, keys in state, how many savepoints are taken, and the epochs from one to the next."""

    rate: int
    keys: int
    savepoints: int
    apart: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """From when to when something took place, by the clock on the wall."""

    begin: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class Savepoint:
    """One that was taken: when, the CPU of it, and its size."""

    when: Stretch
    cpu: float
    megabytes: float


def save(state: Path, number: int, delay: float) -> Savepoint:
    """Take a savepoint after so many seconds, in a process of its own."""
    time.sleep(delay)
    began, cpu = time.time(), time.process_time()
    manifest = take(state, f"sp_{number}", label=None, clock=now)
    size = sum(file.bytes for file in manifest.files) / 2**20
    return Savepoint(Stretch(began, time.time()), time.process_time() - cpu, size)


@dataclass
class Watch:
    """Looks on at a run, has savepoints taken of it, and stops it when all is measured."""

    load: Load
    state: Path
    pool: ProcessPoolExecutor
    control: Control = field(default_factory=Control)
    chance: random.Random = field(default_factory=lambda: random.Random(7))
    seen: int = 0
    rows: int = 0
    measured_rows: int = 0
    """Of the measured epochs but the first."""
    epochs: list[Stretch] = field(default_factory=list)
    jobs: list[Future[Savepoint]] = field(default_factory=list)

    def note(self, report: EpochReport) -> None:
        """An epoch is committed. The first of them are not measured: keys are still new, and Java is cold."""
        self.seen += 1
        self.rows += report.rows_in
        if self.seen < _COLD or self.rows < self.load.keys:
            return
        end = report.at.timestamp()
        self.measured_rows += report.rows_in if self.epochs else 0
        self.epochs.append(Stretch(end - report.duration.total_seconds(), end))
        if len(self.jobs) < self.load.savepoints:
            if len(self.epochs) % self.load.apart == 0 and all(job.done() for job in self.jobs):
                delay = self.chance.random() * self.epochs[-1].seconds
                self.jobs.append(self.pool.submit(save, self.state, len(self.jobs), delay))
        elif all(job.done() for job in self.jobs) and self.epochs[-1].begin > self.jobs[-1].result().when.end:
            self.control.stop("checkpoint")


def under(epochs: Sequence[Stretch], savepoint: Stretch) -> Sequence[Stretch]:
    """The epochs that a savepoint lies over, and the first that begins after it."""
    later = [epoch for epoch in epochs if epoch.end > savepoint.begin]
    after = [epoch for epoch in later if epoch.begin >= savepoint.end]
    return [*(epoch for epoch in later if epoch.begin < savepoint.end), *after[:1]]


def figures(epochs: Sequence[Stretch], savepoints: Sequence[Savepoint], rows: int) -> Mapping[str, float]:
    """What a run comes to."""
    touched = {epoch for savepoint in savepoints for epoch in under(epochs, savepoint.when)}
    others = [epoch for epoch in epochs if epoch not in touched]
    middle = median(epoch.seconds for epoch in epochs)
    return {
        "epochs": len(epochs),
        "rows per second": round(rows / (epochs[-1].end - epochs[0].end)),
        "median epoch s": round(middle, 3),
        "epochs under a savepoint": len(touched),
        "median under a savepoint": round(median(epoch.seconds for epoch in touched) / middle, 2),
        "largest under a savepoint": round(max(epoch.seconds for epoch in touched) / middle, 2),
        "largest of the others": round(max((epoch.seconds for epoch in others), default=0.0) / middle, 2),
        "savepoints": len(savepoints),
        "savepoint s": round(median(savepoint.when.seconds for savepoint in savepoints), 3),
        "savepoint CPU s": round(median(savepoint.cpu for savepoint in savepoints), 3),
        "savepoint MB": round(median(savepoint.megabytes for savepoint in savepoints), 3),
    }


def play(shape: str, load: Load) -> Mapping[str, float]:
    """Run a shape under its load, in this process."""
    scratch = Path(tempfile.mkdtemp(prefix="state-"))
    spark = open_session(app_name="savepoint", log_dir=scratch, master=f"local[{_TASKS}]", parallelism=_TASKS)
    try:
        return play_in(spark, scratch / "state", shape, load)
    finally:
        close_session(spark)
        shutil.rmtree(scratch, ignore_errors=True)


def play_in(spark: SparkSession, state: Path, shape: str, load: Load) -> Mapping[str, float]:
    """The same in a session that is there, on a state directory that is not."""
    sql = (_TABLES + SHAPES[shape]).format(rate=load.rate, keys=load.keys)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(abs, 0).result()  # its imports are not measured, a server has done them long since
        watch = Watch(load, state, pool)
        spec = RunSpec(
            "saved",
            sql,
            state,
            parallelism=_TASKS,
            settings=replace(PLAIN_SETTINGS, max_epoch_rows=load.rate, linger=DEFAULT_LINGER, fuse=True),
        )
        run_in(spark, spec, watch.control, watch.note)
        return figures(watch.epochs, [job.result() for job in watch.jobs], watch.measured_rows)
