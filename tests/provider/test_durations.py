"""Wherever a task takes a length of time, it takes seconds as well."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_arroyo.consumers import to_length
from airflow_provider_arroyo.durations import to_duration
from airflow_provider_arroyo.notifications.arroyo import ArroyoNotifier
from airflow_provider_arroyo.operators.rehearse import RehearseOperator
from airflow_provider_arroyo.operators.savepoint_retention import SavepointRetentionOperator
from airflow_provider_arroyo.operators.stop import StopStreamingJobOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.operators.upgrade_plan import UpgradePlanOperator
from airflow_provider_arroyo.sensors.freshness import FreshnessSensor
from airflow_provider_arroyo.sensors.lag import LagSensor
from airflow_provider_arroyo.testing.control_plane import FakeControlPlane

from .tasks import Run

MINUTE = timedelta(minutes=1)
SQL = {"pipeline": "p", "sql": "SELECT 1"}
TAKEN: dict[str, Callable[[Any], Any]] = {
    "wait_timeout": lambda it: StopStreamingJobOperator(task_id="t", pipeline="p", wait_timeout=it),
    "limit": lambda it: RehearseOperator(task_id="t", **SQL, limit=it),
    "max_age": lambda it: SavepointRetentionOperator(task_id="t", pipeline="p", max_age=it),
    "upgrades_for": lambda it: SavepointRetentionOperator(task_id="t", pipeline="p", upgrades_for=it),
    "approval_timeout": lambda it: UpgradePlanOperator(task_id="t", **SQL, approval_timeout=it),
    "at_most": lambda it: LagSensor(task_id="t", pipeline="p", at_most=it),
    "at_least": lambda it: LagSensor(task_id="t", pipeline="p", at_least=it),
    "steady": lambda it: LagSensor(task_id="t", pipeline="p", at_most=9, steady=it),
    "slack": lambda it: LagSensor(task_id="t", pipeline="p", at_most=9, slack=it),
    "lag": lambda it: ArroyoNotifier(pipeline="p", when="lag", lag=it),
}


@pytest.mark.parametrize("value", [MINUTE, 60, 60.0, "60", " 60 ", "60 seconds", "1 minute", "1.0 minutes"], ids=repr)
def test_a_length_is_a_timedelta_seconds_or_a_text(value: Any) -> None:
    assert to_duration(value, "limit") == MINUTE


@pytest.mark.parametrize("value", [True, None, "", "soon", "-1", "5 parsecs", float("nan"), float("inf"), 1e300, []])
def test_an_invalid_duration_is_refused_with_the_name_of_its_parameter(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^limit is "):
        to_duration(value, "limit")


@pytest.mark.parametrize("name", TAKEN)
@pytest.mark.parametrize("value", [MINUTE, 60, 60.0])
def test_every_length_may_be_in_seconds(name: str, value: Any) -> None:
    assert getattr(TAKEN[name](value), name) == MINUTE


@pytest.mark.parametrize("name", TAKEN)
def test_a_length_that_is_none_is_refused_when_the_file_is_read(name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name} is "):
        TAKEN[name]("soon")


def test_pauses_buckets_and_freshness_take_both(plane: FakeControlPlane) -> None:
    assert StopStreamingJobOperator(task_id="t", pipeline="p", poll_interval=MINUTE).poll_interval == 60
    assert FreshnessSensor(task_id="t", pipeline="p", at_most=60).at_most == MINUTE
    assert [to_length(value) for value in (MINUTE, 60, "1 minute")] == ["60 seconds", "60 seconds", "1 minute"]
    with pytest.raises(ValueError, match="whole seconds"):
        to_length(0.5)


@pytest.mark.parametrize("value", [MINUTE, 60, "60", "1 minute"])
def test_a_checkpoint_interval_is_sent_whichever_way_it_is_written(
    plane: FakeControlPlane, airflow_run: Run, value: Any
) -> None:
    airflow_run.execute(StreamingSqlOperator(task_id="t", **SQL, checkpoint_interval=value))

    assert plane.matching_requests("PUT")[0].body["checkpoint_interval_micros"] == 60_000_000


@pytest.mark.parametrize("value", [None, "", "None"])
def test_a_checkpoint_interval_that_is_rendered_to_nothing_is_none(
    plane: FakeControlPlane, airflow_run: Run, value: Any
) -> None:
    airflow_run.execute(StreamingSqlOperator(task_id="t", **SQL, checkpoint_interval=value))

    assert "checkpoint_interval_micros" not in plane.matching_requests("PUT")[0].body


def test_a_checkpoint_interval_is_a_template() -> None:
    task = StreamingSqlOperator(task_id="t", **SQL, checkpoint_interval="{{ params.seconds }}")

    task.render_template_fields({"params": {"seconds": 90}})

    assert task.checkpoint_interval == "90"
