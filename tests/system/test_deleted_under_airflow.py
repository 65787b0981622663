"""A gate whose pipeline is deleted, and the ranges of a schedule without data intervals, under a real scheduler."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.real_airflow import RealAirflow, until
from tests.system.conftest import QUERY, Served

pytestmark = pytest.mark.timeout(900)

GATES = """
from airflow.sdk import DAG

from airflow_provider_arroyo.sensors.watermark import WatermarkSensor

ARGUMENTS = {"past": "2026-01-01T00:06:00Z", "deferrable": True}

with DAG("gates", schedule=None, user_defined_macros={"name": lambda: "orders"}):
    WatermarkSensor(task_id="in_triggerer", pipeline="clicks", **ARGUMENTS)
    WatermarkSensor(task_id="from_worker", pipeline="{{ name() }}", **ARGUMENTS)
"""

HOURLY = f"""
from datetime import UTC, datetime

from airflow.sdk import DAG

from airflow_provider_arroyo.operators.stream_backfill import StreamBackfillOperator

START, END = datetime(2026, 1, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 2, tzinfo=UTC)

with DAG("hourly", schedule="@hourly", start_date=START, end_date=END, catchup=True, max_active_runs=1):
    StreamBackfillOperator(task_id="hour", pipeline="hour", sql='''{QUERY.format(says="")}''', wait_for="none",
        partial_windows=True)
"""


def test_gates_of_deleted_pipelines_fail_and_hours_of_a_plain_schedule_adjoin(plane: Served, tmp_path: Path) -> None:
    plane.start()
    for name in ("clicks", "orders"):
        plane.deploy(name, says="-- holds: 5")
        plane.until_epoch(5, name)
    connection = {"conn_type": "arroyo", "host": plane.client.url, "password": (tmp_path / "token").read_text().strip()}
    home = tmp_path / "airflow"
    home.mkdir()

    with RealAirflow(home, json.dumps(connection)) as airflow:
        airflow.dag("gates", GATES)
        airflow.dag("hourly", HOURLY)
        run = airflow.run("gates")
        for task in ("in_triggerer", "from_worker"):
            airflow.until("gates", run, task, "deferred")
        assert airflow.task("gates", run, "from_worker")["trigger"]["classpath"].endswith("PipelineTrigger")

        _delete(plane, "clicks")
        airflow.until("gates", run, "in_triggerer", "failed")

        airflow.kill("triggerer")
        _delete(plane, "orders")
        plane.deploy("orders")
        plane.until_epoch(8, "orders")
        airflow.start("triggerer")
        airflow.until("gates", run, "from_worker", "failed")

        assert "pipeline clicks" in _log(airflow, run, "in_triggerer")
        assert "was deleted while this task waited for it" in _log(airflow, run, "from_worker")
        until(lambda: airflow.ended("hourly"), lambda runs: len(runs) == 2, 240)

    listed: Any = plane.client.get("/pipelines")
    ranges = [
        (pipeline["name"], pipeline["settings"]["history_from"], pipeline["settings"]["history_to"])
        for pipeline in listed["data"]
        if pipeline["name"].startswith("hour_")
    ]
    assert sorted(ranges) == [
        ("hour_20260101T000000Z_20260101T010000Z", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"),
        ("hour_20260101T010000Z_20260101T020000Z", "2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"),
    ]


def _delete(plane: Served, name: str) -> None:
    plane.patch(name, stop="immediate")
    plane.until(name, state="Stopped")
    plane.client.send("DELETE", f"/pipelines/{name}", None)


def _log(airflow: RealAirflow, run: str, task: str) -> str:
    found = airflow.ask("GET", f"dags/gates/dagRuns/{run}/taskInstances/{task}/logs/1?full_content=true")
    return found.text
