"""The operator that has the control plane push hours: it asks for that, and for nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from airflow.sdk import Asset

from airflow_provider_arroyo.errors import RefusedError
from airflow_provider_arroyo.operators.push_partitions import PushPartitionsOperator
from airflow_provider_arroyo.testing.control_plane import FakeControlPlane

from .tasks import Run

HOURS = Asset("hours")
MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)


def task(**changed: Any) -> PushPartitionsOperator:
    parts: dict[str, Any] = {
        "task_id": "push",
        "pipeline": "orders",
        "partitions": HOURS,
        "every": timedelta(hours=1),
        "consumer": "hours",
        "start": MIDNIGHT,
    }
    return PushPartitionsOperator(**{**parts, **changed})


def test_operator_requests_asset_events_and_ends(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("orders")
    login = {"username": "arroyo", "password_secret": "AIRFLOW"}

    result = airflow_run.execute(task(url="https://airflow.example", **login))

    consumer = plane.consumers["hours"]
    assert consumer.body["push"] == {
        "url": "https://airflow.example",
        "asset": "hours",
        "with_keys": True,
        "username": "arroyo",
        "password": "{{ secret:AIRFLOW }}",
    }
    assert (consumer.every, consumer.begin) == (timedelta(hours=1), MIDNIGHT)
    assert result == {
        "consumer": "hours",
        "consumer_id": consumer.id,
        "pipeline_id": consumer.pipeline_id,
        "pushed_to": "https://airflow.example",
        "delivered": 0,
        "acked": 0,
    }
    assert task().outlets == [], "its end would be an event of no hour"


def test_asked_again_it_goes_on_and_asked_not_to_it_ends(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("orders")
    first = airflow_run.execute(task(url="https://airflow.example"))

    assert airflow_run.execute(task(url="https://airflow.example")) == first
    assert airflow_run.execute(task(push=False))["pushed_to"] is None
    assert plane.consumers["hours"].body["push"] is None
    assert plane.consumers["hours"].id == first["consumer_id"]


def test_without_a_url_it_is_that_of_this_airflow(
    plane: FakeControlPlane, airflow_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane.add("orders")
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://here.example/airflow")

    airflow_run.execute(task(token_secret="TOKEN", with_keys=False))

    assert plane.consumers["hours"].body["push"] == {
        "url": "https://here.example/airflow",
        "asset": "hours",
        "with_keys": False,
        "token": "{{ secret:TOKEN }}",
    }
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "")
    with pytest.raises(ValueError, match="base_url"):
        airflow_run.execute(task())


@pytest.mark.parametrize(
    "login",
    [
        {"username": "me"},
        {"password_secret": "AIRFLOW"},
        {"username": "me", "password_secret": "AIRFLOW", "token_secret": "T"},
        {"username": "me", "password_secret": "open sesame"},
        {"token_secret": "{{ secret:T }}"},
    ],
    ids=str,
)
def test_credentials_that_make_no_sense_are_refused_when_the_dag_is_read(login: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"credentials|names of secrets") as refused:
        task(**login)

    assert "sesame" not in str(refused.value)


def test_a_consumer_of_other_buckets_is_left_alone(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("orders")
    airflow_run.execute(task(url="https://airflow.example"))

    with pytest.raises(RefusedError, match="other buckets"):
        airflow_run.execute(task(url="https://elsewhere.example", every="1 day"))

    assert plane.consumers["hours"].body["push"]["url"] == "https://airflow.example"
