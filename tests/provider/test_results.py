"""The reference names the keys of each result, as tasks return them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_provider_arroyo.operators.delete import DeletePipelineOperator
from airflow_provider_arroyo.operators.fork import ForkOperator
from airflow_provider_arroyo.operators.rehearse import RehearseOperator
from airflow_provider_arroyo.operators.reprocess import ReprocessOperator
from airflow_provider_arroyo.operators.rescale import RescaleOperator
from airflow_provider_arroyo.operators.restore import RestoreOperator
from airflow_provider_arroyo.operators.rollback import RollbackOperator
from airflow_provider_arroyo.operators.savepoint import SavepointOperator
from airflow_provider_arroyo.operators.savepoint_retention import SavepointRetentionOperator
from airflow_provider_arroyo.operators.start import StartStreamingJobOperator
from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.stream_backfill import StreamBackfillOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.operators.upgrade_plan import UpgradePlanOperator
from airflow_provider_arroyo.sensors.freshness import FreshnessSensor
from airflow_provider_arroyo.sensors.job_state import StreamingJobSensor
from airflow_provider_arroyo.sensors.watermark import WatermarkSensor
from airflow_provider_arroyo.testing.control_plane import FakeControlPlane
from engine.docs.airflow_results import PUSHED, RESULTS

from .tasks import Run
from .test_documentation import ALL

FIVE = datetime(2026, 1, 31, 5, tzinfo=UTC)
OF = {"task_id": "t", "pipeline": "clicks"}
SQL = {**OF, "sql": "SELECT 1"}
OF_ONE = {
    "RehearseOperator": {"rehearsal_id", "pipeline_id", "differs", "sinks"},
    "WatermarkSensor": {"state", "epoch", "watermark", "certificate"},
}
"""The keys of a result where there is no pipeline yet, or one pipeline and not several."""
TASKS: list[Callable[[], Any]] = [
    lambda: StreamingSqlOperator(**SQL),
    lambda: StreamBackfillOperator(**SQL, start=FIVE, end=FIVE + timedelta(hours=1), wait_for="none"),
    lambda: SavepointOperator(**OF),
    lambda: SavepointRetentionOperator(**OF, keep_last=3),
    lambda: RescaleOperator(**OF, parallelism=2),
    lambda: StartStreamingJobOperator(**OF),
    lambda: StopStreamingJobOperator(**OF),
    lambda: StopStreamingJobOperator(task_id="t", pipeline="nobody"),
    lambda: DeletePipelineOperator(**OF),
    lambda: DeletePipelineOperator(task_id="t", pipeline="nobody"),
    lambda: RestoreOperator(**OF, savepoint="sp_1"),
    lambda: RollbackOperator(**OF),
    lambda: ForkOperator(task_id="t", pipeline="fork", savepoint="sp_1", sql="SELECT 1"),
    lambda: ReprocessOperator(**OF, into="again", start_from="earliest"),
    lambda: ReprocessOperator(**OF, into="again", start_from="earliest", hand_over=True),
    lambda: UpgradePlanOperator(task_id="t", pipeline="nobody", sql="SELECT 1"),
    lambda: RehearseOperator(**SQL),
    lambda: RehearseOperator(task_id="t", pipeline="nobody", sql="SELECT 1"),
    lambda: WatermarkSensor(**OF, past=FIVE),
    lambda: FreshnessSensor(**OF, at_most=timedelta(days=99_999)),
    lambda: StreamingJobSensor(**OF, state="running"),
]


@pytest.mark.parametrize("make", TASKS)
def test_a_result_has_the_keys_that_the_reference_names(
    plane: FakeControlPlane, airflow_run: Run, make: Callable[[], Any]
) -> None:
    plane.add("clicks", watermarks=deque([FIVE]), certifies=True)
    task = make()
    name = type(task).__name__

    result = airflow_run.execute(task)

    optional = {key.name for key in RESULTS[name] if key.text.startswith("With ")}
    required = {key.name for key in RESULTS[name]} - optional
    required &= OF_ONE.get(name, required)
    assert required <= result.keys() <= required | {key.name for key in RESULTS[name]}
    assert {key.name for key in PUSHED.get(name, ())} <= airflow_run.pushed.keys() or result.get("differs", 1) is None


def test_every_operator_and_sensor_has_a_result() -> None:
    kinds = {kind.__name__ for kind in ALL if kind.__name__.endswith(("Operator", "Sensor"))}

    assert RESULTS.keys() == kinds
