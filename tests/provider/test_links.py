"""The button of a sensor leads to its pipeline before anything is stored, where its arguments say which one it is."""

from __future__ import annotations

from typing import Any, cast

import pytest
from airflow.sdk import DAG

from airflow_provider_arroyo.airflow_versions import XComOperatorLink
from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.sensors.checkpoint import CheckpointSensor
from airflow_provider_arroyo.sensors.watermark import WatermarkSensor

from .tasks import DagSerialization

BUTTON = "Arroyo pipeline"
VIEW = "/plugin/arroyo/arroyo/arroyo_default/pipelines/clicks"


class Noted:
    """What tasks have noted."""

    def __init__(self) -> None:
        self.links: dict[str, str] = {}

    def get_link(self, operator: Any, *, ti_key: str) -> str:
        return self.links.get(ti_key, "")


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> Noted:
    noted = Noted()
    monkeypatch.setattr(XComOperatorLink, "get_link", noted.get_link)
    return noted


def opened(task: Any) -> str:
    """Where the button of a task leads."""
    dag = DAG("a_dag", schedule=None)
    dag.add_task(task)
    return opened_of(dag)


def opened_of(dag: DAG) -> str:
    """Where the button of its task leads, as Airflow's API server has it from the DAG that is stored."""
    stored = DagSerialization.from_dict(DagSerialization.to_dict(dag)).get_task("a_task")
    return str(stored.operator_extra_link_dict[BUTTON].get_link(stored, ti_key=cast("Any", "a task")))


@pytest.mark.parametrize(
    ("pipeline", "where"),
    [
        ("clicks", VIEW),
        ("clicks/per_hour", VIEW),
        (["clicks", "orders"], "/plugin/arroyo/arroyo/arroyo_default/"),
        ("{{ ds }}", ""),
        (["clicks", "{{ ds }}"], ""),
    ],
)
def test_a_pipeline_that_is_written_out_is_opened_before_anything_is_noted(
    noted: Noted, pipeline: str | list[str], where: str
) -> None:
    assert opened(WatermarkSensor(task_id="a_task", pipeline=pipeline, past="2026-01-01T00:00:00Z")) == where


def test_the_stored_link_is_the_one_that_opens(noted: Noted) -> None:
    noted.links = {"a task": "/there"}

    assert opened(CheckpointSensor(task_id="a_task", pipeline="clicks")) == "/there"
    assert opened(CheckpointSensor(task_id="a_task", pipeline="{{ ds }}", arroyo_conn_id="{{ ds }}")) == "/there"


def test_a_mapped_sensor_has_a_link_once_it_has_begun(noted: Noted) -> None:
    with DAG("a_dag", schedule=None) as dag:
        WatermarkSensor.partial(task_id="a_task", pipeline="clicks").expand(past=["2026-01-01T00:00:00Z"])

    assert opened_of(dag) == ""
    noted.links = {"a task": "/there"}
    assert opened_of(dag) == "/there"


def test_a_connection_out_of_a_template_leads_nowhere_yet(noted: Noted) -> None:
    assert opened(CheckpointSensor(task_id="a_task", pipeline="clicks", arroyo_conn_id="{{ ds }}")) == ""


def test_a_task_that_does_something_has_a_link_once_it_has_begun(noted: Noted) -> None:
    assert opened(StopStreamingJobOperator(task_id="a_task", pipeline="clicks")) == ""
