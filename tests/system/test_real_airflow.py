"""A sensor under a real scheduler and triggerer, over a control plane of its own, and the task that reads its end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.real_airflow import RealAirflow
from tests.system.conftest import Served

pytestmark = pytest.mark.timeout(900)

GATE = """
from airflow.sdk import DAG, task

from airflow_provider_arroyo.sensors.watermark import WatermarkSensor

with DAG("gate", schedule=None):
    gate = WatermarkSensor(
        task_id="gate", pipeline="orders", past="2026-01-01T00:06:00Z", deferrable=True, poke_interval=600
    )

    @task
    def read(passed):
        return passed["certificate"]["epoch"]

    read(gate.output)
"""


def test_a_sensor_that_waits_holds_no_worker_and_ends_with_the_commit(plane: Served, tmp_path: Path) -> None:
    pipeline = plane.start().deploy(says="-- holds: 5")
    plane.until_epoch(5)
    connection = {"conn_type": "arroyo", "host": plane.client.url, "password": (tmp_path / "token").read_text().strip()}
    home = tmp_path / "airflow"
    home.mkdir()

    with RealAirflow(home, json.dumps(connection)) as airflow:
        airflow.dag("gate", GATE)
        run = airflow.run("gate")
        waiting = airflow.until("gate", run, "gate", "deferred")
        assert waiting["trigger"]["classpath"].endswith("SensorTrigger")

        (Path(pipeline["state_dir"]) / "go").touch()

        ended = airflow.until("gate", run, "gate", "success")
        assert [(task["hostname"], task["pid"]) for task in (waiting, ended)] == [("", None)] * 2
        airflow.until("gate", run, "read", "success")
        assert airflow.result("gate", run, "read") >= 6
        assert airflow.result("gate", run, "gate", "pipeline_url") == f"{plane.client.url}/#/pipelines/orders"

    assert airflow.pids() == set()
