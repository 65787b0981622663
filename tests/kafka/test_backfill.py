"""Thirty days of history in a topic that goes on: the run is killed in the history, at the hand-over and behind it, and
has the batch answer over all rows, each once."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from engine.backfill import Backfill
from engine.epoch_report import EpochReport
from engine.errors import BackfillError
from engine.spark.run import RunSpec, run_in
from engine.spark.stop_control import Control
from tests.kafka.broker import Broker
from tests.streams.play import kill_in_epoch, read_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = """
CREATE TABLE orders (at TIMESTAMP NOT NULL, shop TEXT, n BIGINT) WITH (
  connector = 'kafka', bootstrap_servers = '{broker}', topic = '{topic}', type = 'source', format = 'json',
  event_time_field = 'at'
);
CREATE TABLE hours (hour TIMESTAMP, shop TEXT, n BIGINT, total BIGINT)
WITH (connector = 'single_file', path = '{path}', format = 'json', type = 'sink');
INSERT INTO hours SELECT w.start, shop, n, total FROM (
  SELECT tumble(INTERVAL '1 hour') AS w, shop, count(*) AS n, sum(n) AS total FROM orders GROUP BY 1, 2);
"""
SINCE = datetime(2026, 1, 1, tzinfo=UTC)
LIVE = SINCE + timedelta(days=30)
PARTITIONS = 3
KILLS = ((1, "after_write"), (2, "after_sinks"), (3, "after_offsets"), (4, "after_offsets"), (5, "after_sinks"))
"""The third is in the last epoch of the history, the fourth in that of the hand-over."""

Row = dict[str, object]


def row(at: datetime, number: int) -> Row:
    return {"at": f"{at:%Y-%m-%dT%H:%M:%SZ}", "shop": f"s{number % 4}", "n": number}


def produce(broker: Broker, topic: str, rows: Sequence[Row]) -> None:
    for partition in range(PARTITIONS):
        broker.produce(topic, *(json.dumps(row) for row in rows[partition::PARTITIONS]), partition=partition)


def test_history_and_what_comes_behind_it_are_the_batch_answer_through_five_kills(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic, chance = broker.create_topic(partitions=PARTITIONS), random.Random(16)
    days = [row(SINCE + timedelta(minutes=chance.randrange(-2880, 43200)), number) for number in range(1440)]
    produce(broker, topic, days)
    sql = SQL.format(broker=broker.address, topic=topic, path=tmp_path / "out.json")
    backfill = Backfill(SINCE, goes_on=True)
    spec = RunSpec("orders", sql, tmp_path / "state", max_epoch_rows=600, backfill=backfill)
    produced, hours = list(days), 0

    for epoch, point in KILLS:
        kill_in_epoch(spec, epoch, point)
        live = [row(LIVE + timedelta(hours=hours, minutes=10 * minute), 2000 + minute) for minute in range(18)]
        hours += 3
        produce(broker, topic, live)
        produced += live
    expected, closing = batch_answer(produced, tmp_path), LIVE + timedelta(days=2)

    def close() -> None:
        """The windows before these rows, once nothing older is in the same epoch."""
        produce(broker, topic, [row(closing, number) for number in range(PARTITIONS)])

    run_until(spark, replace(spec, backfill=None), tmp_path / "out.json", len(expected), close)

    assert answer(tmp_path / "out.json") == expected
    with pytest.raises(BackfillError, match="another range"):
        run_in(spark, replace(spec, backfill=replace(backfill, since=LIVE)), Control())


def run_until(spark: SparkSession, spec: RunSpec, path: Path, count: int, more: Callable[[], None]) -> None:
    """Run until so many rows are written; more come behind each epoch before that. The state says itself that it is
    of a backfill."""
    control = Control()

    def note(_: EpochReport) -> None:
        if path.exists() and len(read_rows(path)) >= count:
            control.stop("checkpoint")
        else:
            more()

    assert run_in(spark, spec, control, note) == "stopped"


def answer(path: Path) -> list[tuple[object, ...]]:
    return duckdb.execute(f"SELECT hour::TIMESTAMP, shop, n, total FROM '{path}' ORDER BY 1, 2").fetchall()


def batch_answer(rows: Sequence[Row], folder: Path) -> list[tuple[object, ...]]:
    (folder / "all.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return duckdb.execute(
        f"""SELECT date_trunc('hour', "at"), shop, count(*), sum(n)
        FROM read_json('{folder}/all.json', columns = {{"at": 'TIMESTAMP', shop: 'TEXT', n: 'BIGINT'}})
        WHERE "at" >= '{SINCE:%Y-%m-%d}' GROUP BY 1, 2 ORDER BY 1, 2"""
    ).fetchall()
