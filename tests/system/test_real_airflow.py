"""A sensor, a watcher and a batch by partitions under a real scheduler and triggerer, over a control plane."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.real_airflow import RealAirflow, until
from tests.system.conftest import Served

pytestmark = pytest.mark.timeout(900)

BODY = {"pipeline": "orders", "every": "2 minutes", "start": "2026-01-01T00:00:00Z", "until": "2026-01-01T00:08:00Z"}
BUCKETS = [f"2026-01-01T00:0{minute}:00" for minute in (0, 2, 4, 6)]

GATE = """
from airflow.sdk import DAG, task

from airflow_provider_arroyo.sensors.watermark import WatermarkSensor

with DAG("gate", schedule=None):
    gate = WatermarkSensor(
        task_id="gate", pipeline="orders", past="2026-01-01T00:06:00Z", deferrable=True, poke_interval=600
    )
    WatermarkSensor(
        task_id="lean", pipeline="orders", past="2026-01-01T00:06:00Z", deferrable=True, do_xcom_push=False
    )

    @task
    def read(passed):
        return passed["certificate"]["epoch"]

    read(gate.output)
"""
VIEW = "/plugin/arroyo/arroyo/arroyo_default/pipelines/orders"

PARTITIONS = """
from datetime import UTC, datetime

from airflow.sdk import DAG, Asset, AssetWatcher, PartitionedAssetTimetable, task

from airflow_provider_arroyo.operators.next_partition import NextPartitionOperator
from airflow_provider_arroyo.triggers.partition import WatermarkEventTrigger

BUCKETS = {"pipeline": "orders", "every": "2 minutes", "start": "2026-01-01T00:00:00Z", "until": "2026-01-01T00:08:00Z"}
parts = Asset("parts")
pushed = Asset("pushed")
watched = Asset("watched", watchers=[AssetWatcher(name="w", trigger=WatermarkEventTrigger(consumer="w", **BUCKETS))])

with DAG("partitions", schedule="@continuous", start_date=datetime(2026, 1, 1, tzinfo=UTC), max_active_runs=1):
    NextPartitionOperator(task_id="next", partitions=parts, consumer="parts", **BUCKETS)

with DAG("batch", schedule=PartitionedAssetTimetable(assets=parts), max_active_runs=1):

    @task
    def read(dag_run=None, triggering_asset_events=None):
        [event] = triggering_asset_events[parts]
        return [dag_run.partition_key, event.extra["delivery"], event.extra["certificate"]["pipeline"]]

    read()

with DAG("pushed_batch", schedule=PartitionedAssetTimetable(assets=pushed), max_active_runs=1):

    @task
    def read_pushed(dag_run=None, triggering_asset_events=None):
        [event] = triggering_asset_events[pushed]
        return [dag_run.partition_key, event.extra["key"], event.extra["certificate"]["pipeline"]]

    read_pushed()

with DAG("watching", schedule=[watched]):

    @task
    def see(triggering_asset_events=None):
        return [event.extra["payload"]["key"] for event in triggering_asset_events[watched]]

    see()
"""


def test_a_sensor_ends_with_the_commit_and_each_bucket_starts_its_batch_over_a_killed_triggerer(
    plane: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARROYO_NET_ALLOW", "127.0.0.1")
    pipeline = plane.start().deploy(says="-- holds: 5")
    plane.until_epoch(5)
    connection = {"conn_type": "arroyo", "host": plane.client.url, "password": (tmp_path / "token").read_text().strip()}
    home = tmp_path / "airflow"
    home.mkdir()

    with RealAirflow(home, json.dumps(connection)) as airflow:
        airflow.dag("gate", GATE)
        airflow.dag("partitions", PARTITIONS)
        push: Any = {"url": airflow.url.replace("localhost", "127.0.0.1"), "asset": "pushed"}
        plane.client.send("PUT", "/partitions/pushed", {**BODY, "push": push})
        run = airflow.run("gate")
        waiting = airflow.until("gate", run, "gate", "deferred")
        assert waiting["trigger"]["classpath"].endswith("SensorTrigger")
        airflow.until("gate", run, "lean", "deferred")
        assert airflow.link("gate", run, "lean") == VIEW
        until(lambda: keys(airflow, "parts"), lambda found: found == BUCKETS[:2], 240)
        until(lambda: len(airflow.events("watched")), lambda count: count >= 2, 120)
        until(lambda: airflow.waiting("partitions"), bool, 120)
        airflow.kill("triggerer")
        airflow.start("triggerer")

        (Path(pipeline["state_dir"]) / "go").touch()

        ended = airflow.until("gate", run, "gate", "success")
        assert [(task["hostname"], task["pid"]) for task in (waiting, ended)] == [("", None)] * 2
        airflow.until("gate", run, "lean", "success")
        assert airflow.link("gate", run, "gate") == airflow.link("gate", run, "lean") == VIEW
        assert airflow.results("gate", run, "lean") == {"_link_PipelineLink"}
        airflow.until("gate", run, "read", "success")
        assert airflow.result("gate", run, "read") >= 6
        assert airflow.result("gate", run, "gate", "pipeline_url") == f"{plane.client.url}/#/pipelines/orders"
        until(lambda: keys(airflow, "parts"), lambda found: len(found) >= 4, 240)
        until(lambda: airflow.ended("batch"), lambda runs: len(runs) >= 4, 240)
        payloads = until(
            lambda: {
                event["extra"]["payload"]["delivery"]: event["extra"]["payload"] for event in airflow.events("watched")
            },
            lambda seen: len(seen) >= 4,
            240,
        )
        assert [payload["key"] for payload in payloads.values()] == BUCKETS
        assert keys(airflow, "parts") == BUCKETS
        read = {
            run["partition_key"]: airflow.result("batch", run["dag_run_id"], "read") for run in airflow.ended("batch")
        }
        assert len(airflow.ended("batch")) == 4
        until(lambda: airflow.ended("pushed_batch"), lambda runs: len(runs) >= 4, 240)
        assert keys(airflow, "pushed") == BUCKETS
        read_pushed = [
            airflow.result("pushed_batch", run["dag_run_id"], "read_pushed") for run in airflow.ended("pushed_batch")
        ]
        assert sorted(read_pushed) == [[key, key, pipeline["id"]] for key in BUCKETS]
        consumer: Any = plane.client.get("/partitions/pushed")
        assert (consumer["acked"], consumer["push"]["waiting"], consumer["push"]["error"]) == (4, 0, None)
        emitted = {event["partition_key"]: event["extra"]["delivery"] for event in airflow.events("parts")}
        assert read == {key: [key, emitted[key], pipeline["id"]] for key in BUCKETS}

    assert airflow.pids() == set()


def keys(airflow: RealAirflow, asset: str) -> list[str]:
    """The partitions of which there was an event, in their order."""
    return [event["partition_key"] for event in airflow.events(asset)]
