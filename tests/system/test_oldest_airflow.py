"""The core tasks, a watcher and the page under a real scheduler and triggerer of an older Airflow, which
`AIRFLOW_PYTHON` has installed: `make test-airflow`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.real_airflow import RealAirflow, until
from tests.system.conftest import QUERY, Served

pytestmark = pytest.mark.timeout(900)

TASKS = ("deploy", "gate", "on_worker", "rescale", "stop")
# With retries, since Airflow fails a task whose trigger fires before the executor has noted that it was deferred:
# "finished with state success, but the task instance's state attribute is queued".
DAG = f"""
from datetime import timedelta

from airflow.sdk import DAG, Asset, AssetWatcher, task

from airflow_provider_arroyo.operators.rescale import RescaleOperator
from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.sensors.watermark import WatermarkSensor
from airflow_provider_arroyo.triggers.partition import WatermarkEventTrigger

PAST = "2026-01-01T00:06:00Z"
MINUTES = {{"pipeline": "orders", "every": "2 minutes", "start": PAST[:11] + "00:00:00Z", "until": PAST}}
watched = Asset("watched", watchers=[AssetWatcher(name="w", trigger=WatermarkEventTrigger(consumer="w", **MINUTES))])

ARGUMENTS = {{"pipeline": "orders", "deferrable": True, "retries": 3, "retry_delay": timedelta(seconds=1)}}

with DAG("story", schedule=None, default_args=ARGUMENTS):
    deploy = StreamingSqlOperator(task_id="deploy", sql='''{QUERY.format(says="-- holds: 5")}''')
    gate = WatermarkSensor(task_id="gate", past=PAST)
    on_worker = WatermarkSensor(task_id="on_worker", past=PAST, deferrable=False, poke_interval=1)
    rescale = RescaleOperator(task_id="rescale", parallelism=2)
    stop = StopStreamingJobOperator(task_id="stop")

    @task
    def read(passed):
        return passed["certificate"]["epoch"]

    deploy >> gate >> on_worker >> rescale >> stop
    read(gate.output)

with DAG("watching", schedule=[watched]):

    @task
    def see(triggering_asset_events=None):
        return [event.extra["payload"]["key"] for event in triggering_asset_events[watched]]

    see()
"""


def test_the_core_tasks_and_a_watcher_work_over_a_killed_triggerer(plane: Served, tmp_path: Path) -> None:
    plane.start()
    token = (tmp_path / "token").read_text().strip()
    connection = json.dumps({"conn_type": "arroyo", "host": plane.client.url, "password": token})
    home = tmp_path / "airflow"
    home.mkdir()

    with RealAirflow(home, connection, python=os.environ["AIRFLOW_PYTHON"]) as airflow:
        airflow.dag("story", DAG)
        run = airflow.run("story")
        airflow.until("story", run, "gate", "deferred")
        until(lambda: len(airflow.events("watched")), lambda count: count >= 2, 240)
        airflow.kill("triggerer")
        airflow.start("triggerer")
        deployed: Any = plane.client.get("/pipelines/orders")
        (Path(deployed["state_dir"]) / "go").touch()

        for task in TASKS:
            airflow.until("story", run, task, "success")
        airflow.until("story", run, "read", "success")
        assert airflow.result("story", run, "read") >= 6
        assert airflow.result("story", run, "gate", "pipeline_url") == f"{plane.client.url}/#/pipelines/orders"
        page = f"/plugin/arroyo/arroyo/arroyo_default/pipelines/{deployed['id']}"
        assert airflow.link("story", run, "stop") == page
        plane.until(state="Stopped")
        stopped: Any = plane.client.get("/pipelines/orders")
        assert stopped["parallelism"] == 2
        keys = until(
            lambda: {event["extra"]["payload"]["key"] for event in airflow.events("watched")},
            lambda found: len(found) >= 3,
            240,
        )
        assert keys == {f"2026-01-01T00:0{minute}:00" for minute in (0, 2, 4)}
        listed = subprocess.run(
            [airflow.python, "-m", "airflow_provider_arroyo", "list"],
            env=airflow.environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
        assert listed.stdout.startswith("orders  Stopped")

    assert airflow.pids() == set()
