"""Whole pipelines into Kafka."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.spark.run.lifecycle import RunSpec
from engine.spark.run.run_spec import PLAIN_SETTINGS
from tests.kafka.broker import Broker
from tests.kafka.sink_pipeline import MODES, make_topic, settled
from tests.streams.play import kill_in_epoch, play, read_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.connectors, pytest.mark.spark]

ROWS, PER_EPOCH = 60, 20
NUMBERS = f"""
CREATE TABLE numbers WITH (
  connector = 'impulse', event_rate = 1000000, message_count = {ROWS}, event_time_interval = 1000
);
"""
SINK = """
CREATE TABLE out WITH (
  connector = 'kafka', type = 'sink', bootstrap_servers = '{address}', topic = '{topic}', {options}
);
"""


def spec(broker: Broker, topic: str, root: Path, query: str, options: str) -> RunSpec:
    sql = NUMBERS + SINK.format(address=broker.address, topic=topic, options=options) + query
    return RunSpec(
        "numbers", sql, root / "state", settings=replace(PLAIN_SETTINGS, max_epoch_rows=PER_EPOCH, quick=True)
    )


@pytest.mark.parametrize("point", ["before_decision", "after_decision"])
def test_a_driver_that_is_killed_leaves_every_row_there_once(
    point: str, broker: Broker, tmp_path: Path, spark: SparkSession
) -> None:
    topic = make_topic(broker, partitions=2)
    query = "INSERT INTO out SELECT counter, concat('key ', counter % 3) AS name FROM numbers;"
    options = "format = 'json', 'sink.commit_mode' = 'exactly_once', 'sink.key_field' = 'name'"
    of = spec(broker, topic, tmp_path, query, options)
    kill_in_epoch(of, 1, point)

    outcome, _ = play(spark, of)

    assert outcome == "finished"
    rows = [json.loads(message.value() or b"") for message in settled(broker, topic)]
    assert sorted(row["counter"] for row in rows) == list(range(ROWS))


@pytest.mark.parametrize("point", ["after_decision", "while_publishing", "after_write"])
def test_parallel_transactions_need_no_query_that_gives_the_same_rows_again(
    point: str, broker: Broker, tmp_path: Path, spark: SparkSession
) -> None:
    topic = make_topic(broker, partitions=2)
    # a row that is computed again has another key, and would go into another transaction
    query = "INSERT INTO out SELECT counter, uuid() AS name FROM numbers;"
    options = "format = 'json', 'sink.commit_mode' = 'exactly_once', 'sink.key_field' = 'name', 'sink.parallelism' = 3"
    of = spec(broker, topic, tmp_path, query, options)
    kill_in_epoch(of, 1, point)
    # what was open then stays open until the next run, and hides what was committed behind it
    before = [message.value() for message in broker.read(topic)]
    sent = [message.value() for message in broker.read(topic, isolation="read_uncommitted")]

    outcome, _ = play(spark, of)

    values = [message.value() for message in settled(broker, topic)]
    assert outcome == "finished"
    assert sorted(json.loads(value or b"")["counter"] for value in values) == list(range(ROWS))
    assert set(before) <= set(values)
    assert PER_EPOCH < len(sent) <= 2 * PER_EPOCH


@pytest.mark.parametrize("mode", MODES)
def test_updating_rows_are_written_as_changelog_rows(
    mode: str, broker: Broker, tmp_path: Path, spark: SparkSession
) -> None:
    topic = make_topic(broker)
    query = "INSERT INTO out SELECT concat('key ', counter % 3) AS name, count(*) AS n FROM numbers GROUP BY 1;"
    options = f"format = 'debezium_json', 'sink.commit_mode' = '{mode}', 'sink.key_field' = 'name'"

    play(spark, spec(broker, topic, tmp_path, query, options))

    last = {message.key(): json.loads(message.value() or b"")["after"]["n"] for message in settled(broker, topic)}
    assert last == {b"key 0": 20, b"key 1": 20, b"key 2": 20}


@pytest.mark.parametrize("mode", MODES)
def test_rows_that_are_too_large_are_counted_once_through_a_crash(
    mode: str, broker: Broker, tmp_path: Path, spark: SparkSession
) -> None:
    topic = make_topic(broker)
    name = "repeat('x', CASE WHEN counter % 10 = 0 THEN 2000 ELSE 1 END)"
    query = f"INSERT INTO out SELECT counter, {name} AS name FROM numbers;"
    options = f"format = 'json', 'sink.commit_mode' = '{mode}', bad_data = 'drop'"
    options += ", client_configs = 'message.max.bytes=2000'"
    of = spec(broker, topic, tmp_path, query, options)
    kill_in_epoch(of, 1, "after_sinks")

    _, reports = play(spark, of)

    rows = [json.loads(message.value() or b"") for message in settled(broker, topic)]
    assert {row["counter"] for row in rows} == {number for number in range(ROWS) if number % 10}
    assert len(rows) == 54 or mode == "at_least_once"
    assert [report.dropped_rows for report in reports if report.rows_in] == [4, 6]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("point", ["after_ledger", "after_sinks"])
def test_a_table_takes_each_row_that_is_too_large_once_through_a_crash(
    point: str, mode: str, broker: Broker, tmp_path: Path, spark: SparkSession
) -> None:
    topic = make_topic(broker)
    name = "repeat('x', CASE WHEN counter % 10 = 0 THEN 2000 ELSE 1 END)"
    query = f"""
        CREATE TABLE letters (source TEXT, error TEXT, record BYTEA) WITH (
          connector = 'single_file', path = '{tmp_path}/letters', type = 'sink', format = 'json'
        );
        INSERT INTO out SELECT counter, {name} AS name FROM numbers;
    """
    options = f"format = 'json', 'sink.commit_mode' = '{mode}', bad_data = 'dead_letter', dead_letter.table = 'letters'"
    options += ", client_configs = 'message.max.bytes=2000'"
    of = spec(broker, topic, tmp_path, query, options)
    kill_in_epoch(of, 1, point)

    _, reports = play(spark, of)

    letters = read_rows(tmp_path / "letters")
    records = [json.loads(base64.b64decode(str(letter["record"]))) for letter in letters]
    assert [record["counter"] for record in records] == [0, 10, 20, 30, 40, 50]
    assert all(letter["source"] == "out" and "'message.max.bytes'" in str(letter["error"]) for letter in letters)
    assert reports[-1].dropped_rows == 6
