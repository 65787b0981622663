"""One side of the comparison: a process that runs a query whenever it is told to, and says how long it took.

`python -m benchmarks.side ours|plain FOLDER` reads names of queries from standard input.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.queries import PLAIN, SCHEMA, script

PARALLELISM = 2


def by_engine(folder: Path, scratch: Path) -> Callable[[str], None]:
    """Queries through the engine, in a session as a run opens it."""
    from engine.spark.run import RunSpec, run_in  # noqa: PLC0415 - only this side has it
    from engine.spark.session import open_session  # noqa: PLC0415
    from engine.spark.stop_control import Control  # noqa: PLC0415 - only this side has it

    spark = open_session(app_name="ours", log_dir=scratch, master=f"local[{PARALLELISM}]", parallelism=PARALLELISM)

    def run(query: str) -> None:
        spec = RunSpec(query, script(query, folder), scratch / "state", parallelism=PARALLELISM)
        run_in(spark, spec, Control())

    return run


def plain(folder: Path, scratch: Path) -> Callable[[str], None]:
    """Queries written by hand, in a session with the defaults but for as many shuffle partitions as cores."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession  # noqa: PLC0415 - only this side has it

    builder = SparkSession.builder.master(f"local[{PARALLELISM}]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", PARALLELISM).config("spark.driver.memory", "2g")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.driver.bindAddress", "127.0.0.1")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")

    def run(query: str) -> None:
        bids = spark.readStream.schema(SCHEMA).option("pathGlobFilter", "*.json").json(str(folder))
        stream = PLAIN[query](bids).writeStream.format("noop").outputMode("append").trigger(availableNow=True)
        stream.option("checkpointLocation", str(scratch / "state")).start().awaitTermination()

    return run


def main() -> None:
    """Answer each name of a query with the seconds it took."""
    scratch = Path(tempfile.mkdtemp(prefix="bench-"))
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    run = {"ours": by_engine, "plain": plain}[sys.argv[1]](Path(sys.argv[2]), scratch)
    answers.write("ready\n")
    for line in sys.stdin:
        shutil.rmtree(scratch / "state", ignore_errors=True)
        start = time.monotonic()
        run(line.strip())
        answers.write(f"{time.monotonic() - start:.3f}\n")
    shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
