"""Seconds from a command to its first committed epoch: `arroyo run` against spark-submit of the same by hand.

`python -m benchmarks.startup [ROUNDS]`, by turns.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

SQL = """
CREATE TABLE bids (auction BIGINT, bidder BIGINT, price BIGINT) WITH (
  connector = 'single_file', path = '{folder}/bids.json', format = 'json', type = 'source'
);
CREATE TABLE nowhere WITH (connector = 'blackhole');
INSERT INTO nowhere SELECT auction, price FROM bids WHERE auction % 2 = 0;
"""
BY_HAND = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
bids = spark.readStream.schema("auction long, bidder long, price long").json("{folder}/in")
query = bids.where("auction % 2 = 0").select("auction", "price").writeStream.format("noop")
query = query.option("checkpointLocation", "{folder}/checkpoint").start()
query.processAllAvailable()
print("committed", flush=True)
"""


def main() -> None:
    """Print the medians and their ratio."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    engine_seconds, plain_seconds = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="startup-") as folder:
            _write(Path(folder))
            arroyo = [sys.executable, "-m", "engine", "run", f"{folder}/q.sql", "--state-dir", f"{folder}/state"]
            engine_seconds.append(_until([*arroyo, "--json-progress"], '{"epoch": 0'))
            submit = Path(_spark_home()) / "bin" / "spark-submit"
            plain_seconds.append(_until([str(submit), "--master", "local[1]", f"{folder}/q.py"], "committed"))
            print(f"arroyo run {engine_seconds[-1]:6.2f} s   spark-submit {plain_seconds[-1]:6.2f} s", flush=True)
    engine_median, plain_median = statistics.median(engine_seconds), statistics.median(plain_seconds)
    medians = (
        f"arroyo run {engine_median:.2f} s, spark-submit {plain_median:.2f} s, ratio {engine_median / plain_median:.2f}"
    )
    print(f"medians of {rounds}: {medians}")


def _write(folder: Path) -> None:
    lines = "".join(f'{{"auction": {n}, "bidder": {n % 7}, "price": {n * 3}}}\n' for n in range(1000))
    (folder / "in").mkdir()
    (folder / "in" / "bids.json").write_text(lines)
    (folder / "bids.json").write_text(lines)
    (folder / "q.sql").write_text(SQL.format(folder=folder))
    (folder / "q.py").write_text(BY_HAND.format(folder=folder))


def _until(command: Sequence[str], sign: str) -> float:
    started = time.monotonic()
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    run = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, start_new_session=True
    )
    seconds = 0.0
    for line in run.stdout or ():
        if line.startswith(sign):
            seconds = time.monotonic() - started
            break
    run.terminate()
    run.communicate()
    if not seconds:
        raise SystemExit(f"{command[0]} ended without an epoch")
    return seconds


def _spark_home() -> str:
    from pyspark.find_spark_home import _find_spark_home  # noqa: PLC0415

    return str(_find_spark_home())


if __name__ == "__main__":
    main()
