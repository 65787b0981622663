"""Queries by hand in PySpark, as somebody writes them who knows it: a partition for each core, state on the heap, which
is the faster store for states of this size, and a file of each table to an epoch."""

from __future__ import annotations

import os
import shutil
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.nexmark.queries import QUERIES
from benchmarks.nexmark.queries.base import LeftOut, Query
from benchmarks.nexmark.tables import PER_FIFTY, declared
from benchmarks.nexmark.turns import JARS, PARALLELISM, Play, Played, Topics, Turn

_TYPES = {"i": "long", "t": "string", "ts": "timestamp"}
_PHASES = {
    "latestOffset": "find",
    "getBatch": "find",
    "walCommit": "log",
    "queryPlanning": "plan",
    "addBatch": "compute",
    "commitOffsets": "commit",
}
"""What Spark measures, by our names of phases. It plans once more within the batch, which counts as computing."""


def open_session() -> SparkSession:
    """Spark's defaults, but for as many partitions as cores and the heap that ours has."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{PARALLELISM}]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", PARALLELISM).config("spark.driver.memory", "2g")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.driver.bindAddress", "127.0.0.1")
    builder = builder.config("spark.driver.host", "127.0.0.1")
    if archives := os.environ.get(JARS):
        builder = builder.config("spark.jars", archives)
    spark = builder.config("spark.sql.streaming.numRecentProgressUpdates", 500).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def open_peer(scratch: Path) -> Play:
    """A session for all turns."""
    spark = open_session()

    def play(turn: Turn) -> Played:
        query, rows = QUERIES[turn.query], dict[object, list[Any]]()
        shutil.rmtree(scratch / "state", ignore_errors=True)
        writer = answer_of(spark, query, turn).writeStream.outputMode("update" if query.is_updating else "append")
        writer = writer.trigger(availableNow=True).option("checkpointLocation", str(scratch / "state"))
        if turn.shows:
            stream = writer.foreachBatch(lambda batch, _: _keep(rows, query, batch)).start()
        else:
            stream = writer.format("noop").start()
        stream.awaitTermination()
        return Played(len(stream.recentProgress), _phases(stream), list(rows.values()) if turn.shows else None)

    return play


def answer_of(spark: SparkSession, query: Query, turn: Turn) -> DataFrame:
    """The frame of a query."""
    assert not isinstance(query.spark, LeftOut)
    largest = max(PER_FIFTY.get(table, 0) for table in query.tables)
    tables = {table: _read(spark, table, turn, largest) for table in query.tables}
    return query.spark(tables)


def _read(spark: SparkSession, table: str, turn: Turn, largest: int) -> DataFrame:
    if table == "side":
        return spark.read.csv(str(turn.path / "side.csv"), header=True, schema="key long, name string")
    if turn.topics is not None:
        return _read_topic(spark, turn.topics, table, turn.epoch_rows * PER_FIFTY[table] // largest)
    reader = spark.readStream.schema(declared(table, _TYPES)).option("pathGlobFilter", f"*.{turn.kind}")
    return reader.option("maxFilesPerTrigger", 1).format(turn.kind).load(str(turn.path / table))


def _read_topic(spark: SparkSession, topics: Topics, table: str, epoch_rows: int) -> DataFrame:
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", topics.brokers)
    reader = reader.option("subscribe", topics.of(table)).option("startingOffsets", "earliest")
    reader = reader.option("kafka.isolation.level", "read_committed").option("maxOffsetsPerTrigger", epoch_rows)
    line = F.from_json(F.col("value").cast("string"), declared(table, _TYPES)).alias("line")
    return reader.load().select(line).select("line.*")


def _keep(rows: dict[object, list[Any]], query: Query, batch: DataFrame) -> None:
    for row in batch.collect():
        key = len(rows) if query.key is None else tuple(row[place] for place in query.key)
        rows[key] = list(row)


def _phases(stream: StreamingQuery) -> Mapping[str, float]:
    seconds: defaultdict[str, float] = defaultdict(float)
    for progress in stream.recentProgress:
        for name, millis in progress.durationMs.items():
            if name in _PHASES:
                seconds[_PHASES[name]] += millis / 1000
    return dict(seconds)
