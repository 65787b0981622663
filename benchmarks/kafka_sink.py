"""Writing to Kafka: ours exactly once against Spark's own sink, which writes at least once.

`python -m benchmarks.kafka_sink [FILES [ROUNDS]]` lets both read the same bids and write them as JSON into topics of
one broker, by turns, after one turn to warm up, and prints the ratios. The jars of Spark's own sink are
fetched. Every turn's rows are counted by a reader of committed records.
"""

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

from benchmarks.data import ROWS_PER_FILE, make_bids
from benchmarks.queries import SCHEMA, SOURCE
from benchmarks.sides import Side
from engine.spark.run.run_spec import PLAIN_SETTINGS
from tests.kafka.broker import Broker, running
from tests.kafka.jars import spark_kafka

PARALLELISM = 2
PARTITIONS = 4
GOAL = 0.7
PER_EPOCH = ROWS_PER_FILE
_SINK = """
CREATE TABLE out WITH (
  connector = 'kafka', type = 'sink', format = 'json', bootstrap_servers = '{address}', topic = '{topic}',
  'sink.commit_mode' = '{mode}', 'sink.key_field' = 'channel'
);
INSERT INTO out SELECT * FROM bids;
"""
SIDES = ("exactly_once", "at_least_once", "spark")


def by_engine(folder: Path, scratch: Path, address: str, mode: str) -> Callable[[str], None]:
    """Runs of the engine, in a session as it opens it."""
    from engine.spark.jvm.session import open_session  # noqa: PLC0415
    from engine.spark.run.lifecycle import RunSpec, run_in  # noqa: PLC0415 - only this side has it
    from engine.spark.run.stop_control import Control  # noqa: PLC0415 - only this side has it

    spark = open_session(app_name="ours", log_dir=scratch, master=f"local[{PARALLELISM}]", parallelism=PARALLELISM)

    def run(topic: str) -> None:
        sql = (SOURCE + _SINK).format(folder=folder, address=address, topic=topic, mode=mode)
        spec = RunSpec(
            topic,
            sql,
            scratch / topic,
            parallelism=PARALLELISM,
            settings=replace(PLAIN_SETTINGS, max_epoch_rows=PER_EPOCH),
        )
        run_in(spark, spec, Control())

    return run


def by_hand(folder: Path, scratch: Path, address: str) -> Callable[[str], None]:
    """The same in PySpark with Spark's own Kafka sink; a file is an epoch."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession  # noqa: PLC0415 - only this side has it
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - as everybody writes it

    archives = ",".join(map(str, spark_kafka()))
    builder = SparkSession.builder.master(f"local[{PARALLELISM}]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.jars", archives).config("spark.driver.memory", "2g")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.driver.bindAddress", "127.0.0.1")
    builder = builder.config("spark.driver.host", "127.0.0.1")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")

    def run(topic: str) -> None:
        bids = spark.readStream.schema(SCHEMA).option("pathGlobFilter", "*.json").option("maxFilesPerTrigger", 1)
        rows = bids.json(str(folder)).select(F.col("channel").alias("key"), F.to_json(F.struct("*")).alias("value"))
        stream = rows.writeStream.format("kafka").option("kafka.bootstrap.servers", address).option("topic", topic)
        stream = stream.option("checkpointLocation", str(scratch / topic)).trigger(availableNow=True)
        stream.start().awaitTermination()

    return run


def side(name: str, folder: Path, address: str) -> None:
    """Answer each name of a topic with the seconds it took to fill it."""
    scratch = Path(tempfile.mkdtemp(prefix="bench-"))
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    run = by_hand(folder, scratch, address) if name == "spark" else by_engine(folder, scratch, address, name)
    answers.write("ready\n")
    for line in sys.stdin:
        start = time.monotonic()
        run(line.strip())
        answers.write(f"{time.monotonic() - start:.3f}\n")
    shutil.rmtree(scratch, ignore_errors=True)


def main(files: int = 4, rounds: int = 5) -> int:
    """Print what each side took in each round, and the ratios of the medians; the exit code says whether they are
    enough."""
    folder = make_bids(Path(__file__).parent.parent / ".cache" / "bench", files)
    with tempfile.TemporaryDirectory(prefix="bench-") as text, running(Path(text)) as broker:
        sides = {name: Side.start("benchmarks.kafka_sink", name, str(folder), broker.address) for name in SIDES}
        seconds_by_side: dict[str, list[float]] = {name: [] for name in SIDES}
        for number in range(rounds + 1):
            for name, side in sides.items():
                topic = broker.create_topic(f"{name}-{number}", PARTITIONS, retention_ms=-1)
                seconds = float(side.ask(topic))
                assert _rows(broker, topic) >= files * ROWS_PER_FILE, topic
                broker.delete_topic(topic)
                seconds_by_side[name] += [seconds] if number else []
                print(f"{name:15}{seconds:8.2f} s{'' if number else '  (to warm up)'}", flush=True)
        base = statistics.median(seconds_by_side["spark"])
        for name, durations in seconds_by_side.items():
            rate = files * ROWS_PER_FILE / statistics.median(durations)
            print(f"{name:15}{rate:12,.0f} rows/s  {base / statistics.median(durations):5.2f} x Spark's own")
        for side in sides.values():
            side.end()
        ratio = base / statistics.median(seconds_by_side["exactly_once"])
        print(f"exactly once has {ratio:.2f} of the throughput of Spark's own, goal {GOAL}")
    return 0 if ratio >= GOAL else 1


def _rows(broker: Broker, topic: str) -> int:
    """Offsets that a reader of committed records has before it when no transaction is open; markers take some, too."""
    broker.until(lambda: broker.ends(topic, committed=True) == broker.ends(topic, committed=False))
    return sum(broker.ends(topic, committed=True))


if __name__ == "__main__":
    if len(sys.argv) == 4:
        side(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
    else:
        sys.exit(main(*map(int, sys.argv[1:])))
