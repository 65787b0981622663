"""Reading JSON from Kafka: ours, by our own reader and by Spark's (`source.reader = 'jvm'`), against Spark's own source
with from_json, all into nothing.

`python -m benchmarks.kafka_source [RECORDS [ROUNDS]]` lets all read the same topic of one broker, by turns, after one
turn to warm up, and prints the ratios. The jars of Spark's own source are fetched.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path

from confluent_kafka import Producer

from benchmarks.data import bids
from benchmarks.queries import SCHEMA
from benchmarks.sides import Side
from tests.kafka.broker import Broker, running
from tests.kafka.jars import spark_kafka

PARALLELISM = 2
PARTITIONS = 4
GOAL = 0.9
SIDES = ("ours", "jvm", "spark")
_SQL = """
CREATE TABLE bids (
  auction BIGINT, bidder BIGINT, price BIGINT, channel TEXT, url TEXT, datetime TIMESTAMP, extra TEXT
) WITH (
  connector = 'kafka', type = 'source', format = 'json', bootstrap_servers = '{address}', topic = '{topic}',
  source.offset = 'earliest', source.max_rows_per_epoch = 100000000, source.reader = '{reader}'
);
CREATE TABLE nowhere WITH (connector = 'blackhole');
INSERT INTO nowhere SELECT * FROM bids;
"""


def by_engine(scratch: Path, address: str, reader: str) -> Callable[[str, int], None]:
    """Runs of the engine, in a session as it opens it; a run ends when every record was read."""
    os.environ["ARROYO_JARS"] = archives() if reader == "jvm" else ""
    from engine.spark.jvm.session import open_session  # noqa: PLC0415
    from engine.spark.run.lifecycle import RunSpec, run_in  # noqa: PLC0415
    from engine.spark.run.stop_control import Control  # noqa: PLC0415
    from engine.values.epoch_report import EpochReport  # noqa: PLC0415 - only this side has it

    spark = open_session(app_name="ours", log_dir=scratch, master=f"local[{PARALLELISM}]", parallelism=PARALLELISM)

    def run(topic: str, count: int) -> None:
        control, read = Control(), list[int]()

        def note(report: EpochReport) -> None:
            read.append(report.rows_in)
            if sum(read) >= count:
                control.stop("checkpoint")

        sql = _SQL.format(address=address, topic=topic, reader=reader)
        spec = RunSpec(topic, sql, scratch / "state", parallelism=PARALLELISM)
        run_in(spark, spec, control, note)
        assert sum(read) == count, read

    return run


def archives() -> str:
    """Those of Spark's own source."""
    return ",".join(str(path) for path in spark_kafka())


def by_hand(scratch: Path, address: str) -> Callable[[str, int], None]:
    """The same in PySpark with Spark's own Kafka source."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession  # noqa: PLC0415 - only this side has it
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - as everybody writes it

    builder = SparkSession.builder.master(f"local[{PARALLELISM}]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.jars", archives()).config("spark.driver.memory", "2g")
    builder = builder.config("spark.driver.host", "127.0.0.1")  # executors fetch the jars from there
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.driver.bindAddress", "127.0.0.1")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")

    def run(topic: str, count: int) -> None:
        stream = spark.readStream.format("kafka").option("kafka.bootstrap.servers", address).option("subscribe", topic)
        stream = stream.option("startingOffsets", "earliest").option("kafka.isolation.level", "read_committed")
        rows = stream.load().select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("bid")).select("bid.*")
        writer = rows.writeStream.format("noop").trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(scratch / "state")).start()
        query.awaitTermination()
        assert sum(progress.numInputRows for progress in query.recentProgress) == count

    return run


def side(name: str, address: str) -> None:
    """Answer each name of a topic and number of records with the seconds it took to read them."""
    scratch = Path(tempfile.mkdtemp(prefix="bench-"))
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    run = (
        by_hand(scratch, address)
        if name == "spark"
        else by_engine(scratch, address, "python" if name == "ours" else name)
    )
    answers.write("ready\n")
    for line in sys.stdin:
        topic, count = line.split()
        shutil.rmtree(scratch / "state", ignore_errors=True)
        start = time.monotonic()
        run(topic, int(count))
        answers.write(f"{time.monotonic() - start:.3f}\n")
    shutil.rmtree(scratch, ignore_errors=True)


def fill(broker: Broker, count: int) -> str:
    """A topic with so many bids as JSON."""
    topic = broker.create_topic("bids", PARTITIONS, retention_ms=-1)
    values = [json.dumps(bid).encode() for bid in islice(bids(0), 100_000)]
    producer = Producer(broker.client_options(linger_ms=50, compression_type="lz4"))
    for number, value in enumerate(islice(cycle(values), count)):
        producer.produce(topic, value, partition=number % PARTITIONS)
        if number % 10_000 == 0:
            producer.flush()
    assert producer.flush() == 0
    return topic


def main(count: int = 2_000_000, rounds: int = 5) -> int:
    """Print what each side took in each round, and the ratio of the medians; the exit code says whether it will do."""
    with tempfile.TemporaryDirectory(prefix="bench-") as text, running(Path(text)) as broker:
        topic = fill(broker, count)
        seconds_by_side: dict[str, list[float]] = {name: [] for name in SIDES}
        sides = {name: Side.start("benchmarks.kafka_source", "side", name, broker.address) for name in SIDES}
        for number in range(rounds + 1):
            for name, side in sides.items():
                seconds = float(side.ask(f"{topic} {count}"))
                seconds_by_side[name] += [seconds] if number else []
                print(f"{name:8}{seconds:8.2f} s{'' if number else '  (to warm up)'}", flush=True)
        for name, durations in seconds_by_side.items():
            print(f"{name:8}{count / statistics.median(durations):12,.0f} records/s")
        ratios = [
            spark / our_seconds
            for our_seconds, spark in zip(seconds_by_side["ours"], seconds_by_side["spark"], strict=True)
        ]
        by_jvm = statistics.median(seconds_by_side["spark"]) / statistics.median(seconds_by_side["jvm"])
        print(f"ours by Spark's reader is {by_jvm:.2f} x as fast")
        listing = " ".join(f"{ratio:.2f}" for ratio in ratios)
        ratio = statistics.median(seconds_by_side["spark"]) / statistics.median(seconds_by_side["ours"])
        print(f"ours is {ratio:.2f} x as fast, goal {GOAL}   (of the rounds: {listing})")
        for side in sides.values():
            side.end()
    return 0 if ratio >= GOAL else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["side"]:
        side(sys.argv[2], sys.argv[3])
    else:
        sys.exit(main(*map(int, sys.argv[1:])))
