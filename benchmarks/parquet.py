"""`python -m benchmarks.parquet [FILES]`: bids from JSON into Parquet, through the `filesystem` sink and by Spark's own
file sink, by turns in warm sessions; and how many files each has made."""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.data import ROWS_PER_FILE, make_bids
from benchmarks.queries import SCHEMA, SOURCE
from benchmarks.sides import Side
from engine.spark.run.run_spec import PLAIN_SETTINGS

PARALLELISM = 2
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
GOAL = 0.8
SINK = """
CREATE TABLE out WITH (connector = 'filesystem', path = '{out}', format = 'parquet', type = 'sink');
INSERT INTO out SELECT * FROM bids;
"""


def by_engine(folder: Path, scratch: Path) -> Callable[[Path], object]:
    """Through the engine, in epochs of one file of the input."""
    from engine.spark.jvm.session import open_session  # noqa: PLC0415
    from engine.spark.run.lifecycle import RunSpec, run_in  # noqa: PLC0415 - only this side has it
    from engine.spark.run.stop_control import Control  # noqa: PLC0415 - only this side has it

    spark = open_session(app_name="ours", log_dir=scratch, master=f"local[{PARALLELISM}]", parallelism=PARALLELISM)

    def run(out: Path) -> object:
        sql = SOURCE.format(folder=folder).replace("CREATE TABLE nowhere WITH (connector = 'blackhole');", "")
        spec = RunSpec(
            "parquet",
            sql + SINK.format(out=out),
            scratch / "state",
            PARALLELISM,
            settings=replace(PLAIN_SETTINGS, max_epoch_rows=1_000_000),
        )
        return run_in(spark, spec, Control())

    return run


def plain(folder: Path, scratch: Path) -> Callable[[Path], object]:
    """By hand, in batches as large, in the format's own compression and in ours."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession  # noqa: PLC0415 - only this side has it

    builder = SparkSession.builder.master(f"local[{PARALLELISM}]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", PARALLELISM).config("spark.driver.memory", "2g")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.driver.bindAddress", "127.0.0.1")
    spark = builder.config("spark.sql.parquet.compression.codec", "zstd").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")

    def run(out: Path) -> object:
        files = 1_000_000 // ROWS_PER_FILE
        bids = spark.readStream.schema(SCHEMA).option("pathGlobFilter", "*.json").option("maxFilesPerTrigger", files)
        stream = bids.json(str(folder)).writeStream.format("parquet").option("path", str(out))
        stream = stream.option("checkpointLocation", str(scratch / "state")).trigger(availableNow=True)
        return stream.start().awaitTermination()

    return run


def side(name: str, folder: Path) -> None:
    """Write whenever a line comes; answer with the seconds it took and the number of files."""
    scratch = Path(tempfile.mkdtemp(prefix="bench-"))
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    run = {"ours": by_engine, "plain": plain}[name](folder, scratch)
    answers.write("ready\n")
    for _ in sys.stdin:
        for old in ("state", "out"):
            shutil.rmtree(scratch / old, ignore_errors=True)
        start = time.monotonic()
        run(scratch / "out")
        duration = time.monotonic() - start
        files = sorted((scratch / "out").glob("*.parquet"))
        rows = sum(pq.read_metadata(file).num_rows for file in files)
        answers.write(f"{duration:.3f} {len(files)} {rows}\n")
    shutil.rmtree(scratch, ignore_errors=True)


def main(count: int) -> int:
    """Print the medians and their ratio; the exit code says whether it is within the goal."""
    folder = make_bids(Path(__file__).parent.parent / ".cache" / "bench", count)
    sides = {name: Side.start("benchmarks.parquet", "side", name, str(folder)) for name in ("ours", "plain")}
    rounds = [{name: side.ask("go").split() for name, side in sides.items()} for _ in range(ROUNDS + 1)][1:]
    expected = str(count * ROWS_PER_FILE)
    if any(answer[2] != expected for answers in rounds for answer in answers.values()):
        raise SystemExit(f"rows are missing: {rounds}")
    engine_seconds, plain_seconds = (
        statistics.median(float(answers[name][0]) for answers in rounds) for name in ("ours", "plain")
    )
    ratios = " ".join(f"{float(answers['plain'][0]) / float(answers['ours'][0]):.2f}" for answers in rounds)
    print(f"{int(expected):,} bids: ours {engine_seconds:.2f} s, {rounds[0]['ours'][1]} files")
    print(f"Spark's own sink {plain_seconds:.2f} s, {rounds[0]['plain'][1]} files")
    print(f"throughput {plain_seconds / engine_seconds:.2f} of Spark's, goal {GOAL}   (of the rounds: {ratios})")
    for side in sides.values():
        side.end()
    return 0 if plain_seconds / engine_seconds >= GOAL else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["side"]:
        side(sys.argv[2], Path(sys.argv[3]))
    else:
        sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 16))
