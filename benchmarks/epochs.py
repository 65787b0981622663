"""`python -m benchmarks.epochs [ROUNDS]`: what an epoch of 100 rows costs, ours and by hand in PySpark.

A file of 100 rows is an epoch; there are a hundred of them, one after the other, in a process of its own for each side
and shape. What counts are the CPU seconds of all its processes and the seconds between epochs 20 and 100.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.process_tree import ProcessTree
from benchmarks.sides import Side
from engine.spark.jvm.session import open_session
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.spark.run.stop_control import Control
from engine.values.epoch_report import EpochReport

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EPOCHS, WARM, ROWS, KEYS = 100, 20, 100, 50
GOALS: Mapping[str, tuple[float, float]] = {"stateless": (0.10, 0.10), "tumble": (0.20, 0.18), "updating": (0.30, 0.25)}
"""CPU seconds and seconds of an epoch."""
_SOURCE = """
CREATE TABLE rows (ts TIMESTAMP NOT NULL, key BIGINT, number BIGINT, WATERMARK FOR ts AS ts - INTERVAL '4 seconds')
WITH (connector = 'filesystem', path = '{folder}', format = 'json', type = 'source');
CREATE TABLE nowhere WITH (connector = 'blackhole');
"""
_OURS: Mapping[str, str] = {
    "stateless": "INSERT INTO nowhere SELECT key, number FROM rows WHERE number % 2 = 0;",
    "tumble": "INSERT INTO nowhere SELECT key, tumble(INTERVAL '10 seconds') AS w, count(*) FROM rows GROUP BY key, w;",
    "updating": "INSERT INTO nowhere SELECT key, count(*), sum(number) FROM rows GROUP BY key;",
}
_SCHEMA = "ts timestamp, key long, number long"


def write_rows(folder: Path) -> None:
    """A file an epoch; its names and times are in order."""
    began = time.time() - 1_000_000
    for epoch in range(EPOCHS):
        second = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_700_000_000 + epoch))
        lines = (f'{{"ts":"{second}","key":{row % KEYS},"number":{row}}}\n' for row in range(ROWS))
        path = folder / f"{epoch:04}.json"
        path.write_text("".join(lines))
        os.utime(path, (began + epoch, began + epoch))


def ours(shape: str, folder: Path, scratch: Path, seen: Callable[[int], None]) -> None:
    """A run of the engine with the options of a driver."""
    spark = open_session(app_name="epochs", log_dir=scratch, master="local[1]", parallelism=1)
    spec = RunSpec(
        "epochs",
        _SOURCE.format(folder=folder) + _OURS[shape],
        scratch / "state",
        settings=replace(PLAIN_SETTINGS, max_epoch_rows=ROWS),
    )

    def note(report: EpochReport) -> None:
        seen(report.epoch)

    run_in(spark, spec, Control(), note)


def plain(shape: str, folder: Path, scratch: Path, seen: Callable[[int], None]) -> None:
    """The same by hand, with as many partitions as tasks, and Spark's own defaults else."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession  # noqa: PLC0415 - only this side has it

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", 1).config("spark.driver.memory", "2g")
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
    state = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    spark = builder.config("spark.sql.streaming.stateStore.providerClass", state).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    rows = spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder))
    frame, mode = _by_hand(shape, rows)
    stream = frame.writeStream.format("noop").outputMode(mode).option("checkpointLocation", str(scratch / "state"))
    query = stream.start()
    newest = -1
    while newest < EPOCHS - 1:
        time.sleep(0.02)
        progress = query.lastProgress
        if progress is not None and progress.batchId > newest:
            newest = progress.batchId
            seen(newest)
    query.stop()


def _by_hand(shape: str, rows: DataFrame) -> tuple[DataFrame, str]:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - only this side has it

    match shape:
        case "stateless":
            return rows.where("number % 2 = 0").select("key", "number"), "append"
        case "tumble":
            late = rows.withWatermark("ts", "4 seconds")
            return late.groupBy("key", F.window("ts", "10 seconds")).count(), "append"
        case _:
            return rows.groupBy("key").agg(F.count("*"), F.sum("number")), "update"


def side(name: str, shape: str, folder: Path) -> None:
    """One run; the answer is the CPU seconds and the seconds of an epoch."""
    scratch = Path(tempfile.mkdtemp(prefix="bench-"))
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    answers.write("ready\n")
    marks: dict[int, tuple[float, float]] = {}
    tree = ProcessTree(os.getpid())

    def seen(number: int) -> None:
        if number >= EPOCHS - 1 or (number >= WARM and len(marks) == 0):
            marks[number] = (tree.cpu_seconds(), time.monotonic())

    sys.stdin.readline()
    with tree.watched():
        {"ours": ours, "plain": plain}[name](shape, folder, scratch, seen)
    first, last = min(marks), max(marks)
    cpu, wall = ((marks[last][part] - marks[first][part]) / (last - first) for part in (0, 1))
    answers.write(json.dumps({"cpu": cpu, "wall": wall}) + "\n")
    shutil.rmtree(scratch, ignore_errors=True)
    os._exit(0)


def main(rounds: int) -> int:
    """Print a line for each shape; the exit code says whether all are within the goal."""
    missed = False
    print(f"epochs of {ROWS} rows; CPU seconds and seconds of an epoch, medians of {rounds} rounds by turns")
    print(f"{'':12}{'ours':>16}{'by hand':>16}{'ratio of CPU':>14}{'goal':>16}")
    with tempfile.TemporaryDirectory(prefix="epochs-") as name:
        folder = Path(name)
        write_rows(folder)
        for shape, goal in GOALS.items():
            figures_of = {"ours": list[tuple[float, float]](), "plain": list[tuple[float, float]]()}
            for _ in range(rounds):
                for name_of_side, figures in figures_of.items():
                    process = Side.start("benchmarks.epochs", "side", name_of_side, shape, name)
                    answer = json.loads(process.ask("go"))
                    figures.append((answer["cpu"], answer["wall"]))
                    process.end()
            cpu, wall = (statistics.median(figure[part] for figure in figures_of["ours"]) for part in (0, 1))
            plain_cpu, plain_wall = (
                statistics.median(figure[part] for figure in figures_of["plain"]) for part in (0, 1)
            )
            missed = missed or cpu > goal[0] or wall > goal[1]
            print(
                f"{shape:12}{_pair(cpu, wall):>16}{_pair(plain_cpu, plain_wall):>16}{cpu / plain_cpu:14.2f}"
                f"{_pair(*goal):>16}",
                flush=True,
            )
    return 1 if missed else 0


def _pair(cpu: float, wall: float) -> str:
    return f"{cpu:.2f} ({wall:.2f})"


if __name__ == "__main__":
    if sys.argv[1:2] == ["side"]:
        side(sys.argv[2], sys.argv[3], Path(sys.argv[4]))
    else:
        sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 3))
