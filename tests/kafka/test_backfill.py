"""Thirty days of history in a topic that goes on: the run is killed in the history, at the hand-over and behind it, and
has the batch answer over all rows, each once."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from engine.errors import BackfillError
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.spark.run.stop_control import Control
from engine.values.epoch_report import EpochReport
from engine.values.start_positions import Backfill
from tests.kafka.broker import Broker
from tests.streams.play import kill_in_epoch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = """
CREATE TABLE orders (at TIMESTAMP NOT NULL, shop TEXT, n BIGINT) WITH (
  connector = 'kafka', bootstrap_servers = '{broker}', topic = '{topic}', type = 'source', format = 'json',
  event_time_field = 'at'
);
CREATE TABLE hours (hour TIMESTAMP, shop TEXT, n BIGINT, total BIGINT) WITH ({target}, format = 'json', type = 'sink');
INSERT INTO hours SELECT w.start, shop, n, total FROM (
  SELECT tumble(INTERVAL '1 hour') AS w, shop, count(*) AS n, sum(n) AS total FROM orders GROUP BY 1, 2);
"""
SINCE = datetime(2026, 1, 1, tzinfo=UTC)
LIVE = SINCE + timedelta(days=30)
PARTITIONS = 3
KILLS = ((1, "after_sinks"), (2, "after_sinks"), (3, "after_offsets"), (4, "after_offsets"), (5, "after_sinks"))
"""The third is in the last epoch of the history, the fourth in that of the hand-over."""

Row = dict[str, object]


def row(at: datetime, number: int) -> Row:
    return {"at": f"{at:%Y-%m-%dT%H:%M:%SZ}", "shop": f"s{number % 4}", "n": number}


def produce(broker: Broker, topic: str, rows: Sequence[Row]) -> None:
    for partition in range(PARTITIONS):
        broker.produce(topic, *(json.dumps(row) for row in rows[partition::PARTITIONS]), partition=partition)


@dataclass
class Orders:
    """A topic of thirty days in no order that goes on, and the query over it."""

    broker: Broker
    folder: Path
    target: str
    """The options of the table that is written."""
    hours: int = 0
    """How many of those behind the thirty days have come."""

    def __post_init__(self) -> None:
        self.topic = self.broker.create_topic(partitions=PARTITIONS)
        chance = random.Random(16)
        days = [row(SINCE + timedelta(minutes=chance.randrange(-2880, 43200)), number) for number in range(1440)]
        self.produced: list[Row] = []
        self.come(days)

    @property
    def spec(self) -> RunSpec:
        """The query, which reads the thirty days and then goes on."""
        sql = SQL.format(broker=self.broker.address, topic=self.topic, target=self.target)
        backfill = Backfill(SINCE, goes_on=True)
        return RunSpec(
            "orders",
            sql,
            self.folder / "state",
            settings=replace(PLAIN_SETTINGS, max_epoch_rows=600, backfill=backfill),
        )

    def come(self, rows: Sequence[Row]) -> None:
        """Some more rows."""
        produce(self.broker, self.topic, rows)
        self.produced += rows

    def three_hours(self) -> None:
        """Those of the next three hours."""
        start, self.hours = LIVE + timedelta(hours=self.hours), self.hours + 3
        self.come([row(start + timedelta(minutes=10 * minute), 2000 + minute) for minute in range(18)])

    def close(self) -> None:
        """Close the windows before these rows, once nothing older is in the same epoch."""
        produce(self.broker, self.topic, [row(LIVE + timedelta(days=2), number) for number in range(PARTITIONS)])

    def play_to_the_end(self, spark: SparkSession, written: Callable[[], list[tuple[object, ...]]]) -> None:
        """Run until all is written. The state says itself that it is of a backfill."""
        expected = batch_answer(self.produced, self.folder)
        run_until(
            spark,
            replace(self.spec, settings=replace(self.spec.settings, backfill=None)),
            lambda: len(written()) >= len(expected),
            self.close,
        )
        assert written() == expected


def test_history_and_what_comes_behind_it_are_the_batch_answer_through_five_kills(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic = broker.create_topic(retention_ms=-1)  # records have the time of their windows, which is long over
    target = f"connector = 'kafka', bootstrap_servers = '{broker.address}', topic = '{topic}'"
    target += ", 'sink.commit_mode' = 'exactly_once'"
    orders = Orders(broker, tmp_path, target)

    for epoch, point in KILLS:
        kill_in_epoch(orders.spec, epoch, point)
        orders.three_hours()

    def written() -> list[tuple[object, ...]]:
        (tmp_path / "out.json").write_text(
            "".join(f"{str(record.value(), 'utf-8')}\n" for record in broker.read(topic))
        )
        return answer(tmp_path / "out.json")

    orders.play_to_the_end(spark, written)
    another = replace(orders.spec, settings=replace(orders.spec.settings, backfill=Backfill(LIVE, goes_on=True)))
    with pytest.raises(BackfillError, match="another range"):
        run_in(spark, another, Control())


def test_a_run_that_is_killed_where_its_history_is_over_goes_on_with_what_comes(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    out = tmp_path / "out.json"
    orders = Orders(broker, tmp_path, f"connector = 'single_file', path = '{out}'")

    kill_in_epoch(orders.spec, 4, "after_offsets")
    orders.three_hours()

    orders.play_to_the_end(spark, lambda: answer(out))


def run_until(spark: SparkSession, spec: RunSpec, is_there: Callable[[], bool], more: Callable[[], None]) -> None:
    """Run until what is waited for is there; more comes behind each epoch before that."""
    control = Control()

    def note(_: EpochReport) -> None:
        if is_there():
            control.stop("checkpoint")
        else:
            more()

    assert run_in(spark, spec, control, note) == "stopped"


def answer(path: Path) -> list[tuple[object, ...]]:
    if not path.exists() or not path.stat().st_size:
        return []
    return duckdb.execute(f"SELECT hour::TIMESTAMP, shop, n, total FROM '{path}' ORDER BY 1, 2").fetchall()


def batch_answer(rows: Sequence[Row], folder: Path) -> list[tuple[object, ...]]:
    (folder / "all.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return duckdb.execute(
        f"""SELECT date_trunc('hour', "at"), shop, count(*), sum(n)
        FROM read_json('{folder}/all.json', columns = {{"at": 'TIMESTAMP', shop: 'TEXT', n: 'BIGINT'}})
        WHERE "at" >= '{SINCE:%Y-%m-%d}' GROUP BY 1, 2 ORDER BY 1, 2"""
    ).fetchall()
