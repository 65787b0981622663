"""The examples with partitions, with a watcher and with pushed hours under a real Airflow that has Postgres as its
database, with the control plane that they start by themselves and real Spark: streams are deployed, hours are complete,
and each has its batch, with the rows of that hour."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import duckdb
import pytest

from tests.dag_runs import REPOSITORY, end_processes, processes_of
from tests.postgres import postgres, programs, rows
from tests.real_airflow import RealAirflow, until

pytestmark = pytest.mark.timeout(1800)

FIRST_HOUR = datetime(2026, 1, 1)  # noqa: DTZ001 - keys of partitions name no zone
HOURS = 4

EVENTS_OF_PUSHES = """
SELECT partition_key, asset_event.extra FROM asset_event JOIN asset ON asset.id = asset_id
WHERE name = 'pushed_hours_of_visits' ORDER BY asset_event.id
"""
"""Not of its API: that of Airflow 3.3.2 fails while a run that an event has created is not started yet."""


@pytest.fixture
def database() -> Iterator[str]:
    if programs() is None:
        assert not os.environ.get("CI"), "Postgres is missing: nobody knows whether the provider works over it"
        pytest.skip("Postgres is missing: apt-get install postgresql")
    with postgres() as url:
        yield url


def test_hours_are_handed_on_and_watched_each_with_its_batch(database: str, tmp_path: Path) -> None:
    connection = {"conn_type": "arroyo", "extra": {"embedded": True, "data_dir": str(tmp_path / "arroyo")}}
    home = tmp_path / "airflow"
    settings = {
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": database,
        "ARROYO_EXAMPLE_FOLDER": str(tmp_path / "data"),
    }
    home.mkdir()
    try:
        with RealAirflow(home, json.dumps(connection), settings=settings) as airflow:
            for example in ("batch_by_partitions", "watched_hours"):
                airflow.dag(example, (REPOSITORY / "dags_examples" / f"{example}.py").read_text())
            deploying = airflow.run("watched_hours_stream")
            airflow.until("watched_hours_stream", deploying, "deploy", "success", 600)

            counted = until(partial(batches, airflow), lambda found: set(hours(HOURS)) <= set(found), 900)
            assert counted == {hour: [3600] for hour in counted}
            handed_on = [event["partition_key"] for event in airflow.events("hours_of_visits")]
            assert handed_on == hours(len(handed_on))
            assert set(counted) <= set(handed_on)
            seen = until(partial(watched, airflow), lambda found: set(closed(HOURS)) <= set(found), 900)
            assert sorted(seen) == sorted(set(seen))

            of_runs = "SELECT count(*) FROM dag_run WHERE dag_id = 'batch_of_an_hour' AND state = 'success'"
            [(ended,)] = rows(database, of_runs)
            assert ended >= HOURS
            assert not list(home.glob("*.db"))
        assert airflow.pids() == set()
    finally:
        end_processes(tmp_path)
    assert processes_of(tmp_path) == []


def test_hours_are_pushed_and_each_has_its_batch(database: str, tmp_path: Path) -> None:
    connection = {"conn_type": "arroyo", "extra": {"embedded": True, "data_dir": str(tmp_path / "arroyo")}}
    home = tmp_path / "airflow"
    settings = {
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": database,
        "ARROYO_EXAMPLE_FOLDER": str(tmp_path / "data"),
        "ARROYO_NET_ALLOW": "localhost",  # where the control plane pushes to
    }
    home.mkdir()
    try:
        with RealAirflow(home, json.dumps(connection), settings=settings) as airflow:
            airflow.dag("pushed_hours", (REPOSITORY / "dags_examples" / "pushed_hours.py").read_text())
            asked = airflow.run("pushed_hours")
            airflow.until("pushed_hours", asked, "push", "success", 900)
            pipeline = airflow.result("pushed_hours", asked, "deploy")["pipeline_id"]

            counted = until(partial(pushed_batches, airflow), lambda found: set(hours(HOURS)) <= set(found), 900)
            events = rows(database, EVENTS_OF_PUSHES)
        assert airflow.pids() == set()
    finally:
        end_processes(tmp_path)
    assert processes_of(tmp_path) == []
    expected = visits(len(events))
    assert counted == {hour: [expected[hour]] for hour in counted}
    assert [key for key, _ in events] == list(expected)
    assert [extra["sequence"] for _, extra in events] == list(range(1, len(events) + 1))
    assert {extra["certificate"]["pipeline"] for _, extra in events} == {pipeline}


def batches(airflow: RealAirflow) -> dict[str, list[int]]:
    """The rows that the batch of each hour has counted, of the hours that have had theirs."""
    found: dict[str, list[int]] = {}
    for run in airflow.ended("batch_of_an_hour"):
        counted = airflow.result("batch_of_an_hour", run["dag_run_id"], "count_visits")
        found.setdefault(run["partition_key"], []).extend(counted.values())
    return found


def pushed_batches(airflow: RealAirflow) -> dict[str, list[int]]:
    """What the batches of the first hours that were pushed have counted, of the hours that have had theirs."""
    found: dict[str, list[int]] = {}
    for run in (run for run in airflow.ended("pushed_batch") if run["partition_key"] in hours(HOURS)):
        counted = airflow.result("pushed_batch", run["dag_run_id"], "count_visits")
        found.setdefault(run["partition_key"], []).append(counted)
    return found


def visits(count: int) -> dict[str, int]:
    """The visits of each of the first hours, as DuckDB counts what the stream makes: one a second."""
    every_second = "range(TIMESTAMP '2026-01-01', TIMESTAMP '2026-01-01' + ? * INTERVAL 1 HOUR, INTERVAL 1 SECOND)"
    query = f"SELECT date_trunc('hour', second), count(*) FROM {every_second} AS t(second) GROUP BY 1 ORDER BY 1"
    with duckdb.connect() as oracle:
        return {hour.isoformat(): visits for hour, visits in oracle.execute(query, [count]).fetchall()}


def watched(airflow: RealAirflow) -> list[str]:
    """What the runs that a watcher has started were told."""
    told = [airflow.result("watched_hours", run["dag_run_id"], "list_hours") for run in airflow.ended("watched_hours")]
    return [hour for hours_of_run in told for hour in hours_of_run]


def hours(count: int) -> list[str]:
    """The keys of the first hours."""
    return [(FIRST_HOUR + timedelta(hours=number)).isoformat() for number in range(count)]


def closed(count: int) -> list[str]:
    """How a watcher tells of them."""
    return [f"closed {hour}" for hour in hours(count)]
