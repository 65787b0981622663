"""Pipelines over a real broker: what is read through restarts, idle partitions, lost records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.errors import RecordsLostError, SourceUnavailableError, TopicRecreatedError
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.stop_control import Control
from engine.values.epoch_report import EpochReport
from tests.kafka.broker import Broker
from tests.ports import free_ports
from tests.streams.play import kill_in_epoch, read_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = """
CREATE TABLE events (n BIGINT{columns}) WITH (
  connector = 'kafka', bootstrap_servers = '{broker}', topic = '{topic}', type = 'source', format = 'json',
  source.discovery_interval = INTERVAL '0 seconds'{options}
);
CREATE TABLE output ({output}) WITH (connector = 'single_file', path = '{path}', format = 'json', type = 'sink');
"""
COPY = "INSERT INTO output SELECT n FROM events;"
EARLIEST = ", source.offset = 'earliest'"


def spec_of(
    folder: Path,
    broker: Broker,
    topic: str,
    options: str = EARLIEST,
    sql: str = COPY,
    columns: str = "",
    output: str = "n BIGINT",
) -> RunSpec:
    path = folder / "output.json"
    values = {"broker": broker.address, "topic": topic, "options": options, "columns": columns, "output": output}
    return RunSpec("copy", TABLES.format(path=path, **values) + sql, folder / "state", parallelism=2)


def numbers(*values: int) -> list[str]:
    return [json.dumps({"n": value}) for value in values]


def run_until(spark: SparkSession, spec: RunSpec, count: int, between: Iterator[object] | None = None) -> None:
    """Run until so many rows are written in all; after each epoch before that, something happens."""
    control = Control()

    def note(report: EpochReport) -> None:
        if len(written(spec)) >= count:
            control.stop("checkpoint")
        else:
            next(between or iter(()), None)

    assert run_in(spark, spec, control, note) == "stopped"


def written(spec: RunSpec) -> list[int]:
    path = spec.state_dir.parent / "output.json"
    return [int(str(row["n"])) for row in read_rows(path)] if path.exists() else []


def test_records_written_after_the_start_are_read_even_while_nothing_runs(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic = broker.create_topic()
    broker.produce(topic, *numbers(1))
    spec = spec_of(tmp_path, broker, topic, options="")
    run_until(spark, spec, 0)
    broker.produce(topic, *numbers(2, 3))

    run_until(spark, spec, 2)

    assert written(spec) == [2, 3]


def test_each_epoch_says_how_many_records_wait_behind_it(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic()
    broker.produce(topic, *numbers(*range(5)))
    waiting: list[int | None] = []
    control = Control()

    def note(report: EpochReport) -> None:
        waiting.append(report.rows_waiting)
        if len(written(spec)) == 5:
            control.stop("checkpoint")

    spec = replace(
        spec_of(tmp_path, broker, topic), settings=replace(spec_of(tmp_path, broker, topic).settings, max_epoch_rows=2)
    )
    assert run_in(spark, spec, control, note) == "stopped"

    assert waiting[-3:] == [3, 1, 0]


def test_a_partition_that_is_added_while_a_pipeline_runs_is_read_whole(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic = broker.create_topic()
    broker.produce(topic, *numbers(1))
    spec = spec_of(tmp_path, broker, topic)

    def more() -> Iterator[object]:
        yield broker.produce(topic, *numbers(2))
        yield broker.add_partitions(topic, 2), broker.produce(topic, *numbers(3, 4), partition=1)

    run_until(spark, spec, 4, more())

    assert written(spec) == [1, 2, 3, 4]


@pytest.mark.parametrize("point", ["after_offsets", "after_write", "after_sinks"])
def test_a_kill_loses_and_doubles_nothing(spark: SparkSession, broker: Broker, tmp_path: Path, point: str) -> None:
    topic = broker.create_topic(partitions=2)
    for partition in (0, 1):
        with broker.transaction(topic, *numbers(*range(100 * partition, 100 * partition + 30)), partition=partition):
            pass
        with broker.transaction(topic, *numbers(-1, -2), partition=partition, abort=True):
            pass
    spec = replace(
        spec_of(tmp_path, broker, topic), settings=replace(spec_of(tmp_path, broker, topic).settings, max_epoch_rows=20)
    )

    kill_in_epoch(spec, 2, point)
    run_until(spark, spec, 60)

    assert sorted(written(spec)) == [*range(30), *range(100, 130)]


def test_a_broker_that_is_killed_and_comes_back_is_waited_for(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic = broker.create_topic()
    broker.produce(topic, *numbers(1))
    spec = spec_of(tmp_path, broker, topic, f"{EARLIEST}, source.broker_timeout = INTERVAL '3 minutes'")

    def restart() -> Iterator[object]:
        yield None
        yield broker.kill(), broker.restart(), broker.produce(topic, *numbers(2))

    run_until(spark, spec, 2, restart())

    assert written(spec) == [1, 2]


def test_windows_wait_for_the_slowest_partition_and_go_by_the_time_of_the_records(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic = broker.create_topic(partitions=2, retention_ms=-1)
    start = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp() * 1000)
    broker.produce(topic, *numbers(1, 2), timestamp=start)
    sql = "INSERT INTO output SELECT count(*) FROM events GROUP BY tumble(INTERVAL '1 minute');"
    spec = spec_of(tmp_path, broker, topic, sql=sql)

    def later() -> Iterator[object]:
        yield None
        yield broker.produce(topic, *numbers(3), timestamp=start + 300_000)
        yield broker.produce(topic, *numbers(4), partition=1, timestamp=start + 10_000)
        yield broker.produce(topic, *numbers(5), partition=1, timestamp=start + 200_000)

    run_until(spark, spec, 1, later())

    assert written(spec) == [3]


def test_records_that_are_gone_stop_a_pipeline_and_the_advice_lets_it_go_on(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic = broker.create_topic()
    broker.produce(topic, *numbers(1))
    spec = spec_of(tmp_path, broker, topic)
    run_until(spark, spec, 1)
    broker.produce(topic, *numbers(2, 3, 4))
    broker.delete_records(topic, before=3)

    with pytest.raises(RecordsLostError, match="begins at offset 3, and was read up to 1: 2 records are gone") as lost:
        run_in(spark, spec, Control())
    assert "on_data_loss = 'continue'" in (lost.value.hint or "")
    assert written(spec) == [1]

    run_until(spark, spec_of(tmp_path, broker, topic, f"{EARLIEST}, on_data_loss = 'continue'"), 2)
    assert written(spec) == [1, 4]


def test_a_topic_that_was_made_again_stops_a_pipeline_and_the_advice_lets_it_go_on(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic = broker.create_topic()
    broker.produce(topic, *numbers(1, 2))
    spec = spec_of(tmp_path, broker, topic)
    run_until(spark, spec, 2)
    broker.delete_topic(topic)
    broker.create_topic(topic)
    broker.produce(topic, *numbers(3, 4, 5))

    with pytest.raises(TopicRecreatedError):
        run_in(spark, spec, Control())
    assert written(spec) == [1, 2]

    run_until(spark, spec_of(tmp_path, broker, topic, f"{EARLIEST}, on_data_loss = 'continue'"), 5)
    assert written(spec) == [1, 2, 3, 4, 5]


def test_a_group_matters_only_when_nothing_was_read_yet(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    topic = broker.create_topic()
    broker.produce(topic, *numbers(1, 2, 3))
    broker.commit(topic, topic, 1)
    spec = spec_of(tmp_path, broker, topic, f", source.offset = 'group', source.group_id = '{topic}'")
    run_until(spark, spec, 2)

    broker.delete_group(topic)
    broker.produce(topic, *numbers(4))
    run_until(spark, spec, 3)

    assert written(spec) == [2, 3, 4]


def test_brokers_that_are_down_are_an_error_that_may_pass(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    spec = spec_of(tmp_path, broker, "any", ", source.broker_timeout = INTERVAL '500 milliseconds'")

    with pytest.raises(SourceUnavailableError, match=f"Kafka at 127.0.0.1:{port}") as down:
        run_in(spark, replace(spec, sql=spec.sql.replace(broker.address, f"127.0.0.1:{port}")), Control())

    assert down.value.retryable
