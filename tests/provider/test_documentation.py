"""The page about the provider mentions all there is."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_arroyo.get_provider_info import get_provider_info
from airflow_provider_arroyo.notifications.arroyo import ArroyoNotifier
from airflow_provider_arroyo.operators.delete import DeletePipelineOperator
from airflow_provider_arroyo.operators.move import MoveOperator
from airflow_provider_arroyo.operators.next_partition import NextPartitionOperator
from airflow_provider_arroyo.operators.push_partitions import PushPartitionsOperator
from airflow_provider_arroyo.operators.rehearse import RehearseOperator
from airflow_provider_arroyo.operators.rescale import RescaleOperator
from airflow_provider_arroyo.operators.savepoint import SavepointOperator
from airflow_provider_arroyo.operators.savepoint_retention import SavepointRetentionOperator
from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.stream_backfill import StreamBackfillOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.sensors.checkpoint import CheckpointSensor
from airflow_provider_arroyo.sensors.freshness import FreshnessSensor
from airflow_provider_arroyo.sensors.job_state import StreamingJobSensor
from airflow_provider_arroyo.sensors.lag import LagSensor
from airflow_provider_arroyo.sensors.watermark import WatermarkSensor

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "airflow.md").read_text()
TASKS = [
    StreamingSqlOperator,
    StreamBackfillOperator,
    SavepointOperator,
    SavepointRetentionOperator,
    RehearseOperator,
    RescaleOperator,
    MoveOperator,
    StopStreamingJobOperator,
    DeletePipelineOperator,
    NextPartitionOperator,
    PushPartitionsOperator,
    WatermarkSensor,
    CheckpointSensor,
    StreamingJobSensor,
    FreshnessSensor,
    LagSensor,
    ArroyoNotifier,
]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.__name__)
def test_every_task_and_each_of_its_parameters_is_explained(task: Any) -> None:
    parameters = [name for name in inspect.signature(task.__init__).parameters if name not in ("self", "kwargs")]

    assert f"**{task.__name__}**" in PAGE
    assert [name for name in parameters if f"`{name}`" not in PAGE] == []
    assert all(f":param {name}:" in task.__doc__ for name in parameters)


def test_every_field_of_the_connection_form_is_explained() -> None:
    [kind] = get_provider_info()["connection-types"]
    labels = [field["label"] for field in kind["conn-fields"].values()]

    assert [label for label in [*labels, "Token", "Scheme"] if label not in PAGE] == []
