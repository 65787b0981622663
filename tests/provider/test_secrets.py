"""Secrets from Airflow's connections and variables: sent once, apart from the script, and shown to nobody."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from airflow.sdk import DAG
from airflow.serialization.serialized_objects import DagSerialization

from airflow_provider_arroyo.airflow_versions import AirflowFailException
from airflow_provider_arroyo.errors import SecretError
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.testing.control_plane import FakeControlPlane

from .tasks import Run

SQL = "CREATE CONNECTION shop WITH ('auth.password' = '${secret:KAFKA}')"
KAFKA = {"conn_type": "kafka", "login": "orders", "password": "open sesame", "extra": {"sasl_key": "sesame-2"}}


@pytest.fixture(autouse=True)
def _connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SHOP_KAFKA", json.dumps(KAFKA))
    monkeypatch.setenv("AIRFLOW_VAR_REGISTRY_TOKEN", "sesame-3")


def deploy(**secrets: str) -> StreamingSqlOperator:
    return StreamingSqlOperator(task_id="deploy", pipeline="clicks", sql=SQL, secrets=secrets)


def test_secrets_come_from_connections_and_variables(plane: FakeControlPlane, airflow_run: Run) -> None:
    airflow_run.execute(
        deploy(
            KAFKA="conn:shop_kafka.password",
            USER="conn:shop_kafka.login",
            SASL="conn:shop_kafka.extra.sasl_key",
            TOKEN="var:registry_token",
        )
    )

    [sent] = plane.matching_requests("PUT")
    assert sent.body["secrets"] == {"KAFKA": "open sesame", "USER": "orders", "SASL": "sesame-2", "TOKEN": "sesame-3"}
    assert "sesame" not in json.dumps({**sent.body, "secrets": None})


def test_without_secrets_the_request_says_nothing_of_them(plane: FakeControlPlane, airflow_run: Run) -> None:
    airflow_run.execute(StreamingSqlOperator(task_id="deploy", pipeline="clicks", sql=SQL))

    assert "secrets" not in plane.matching_requests("PUT")[0].body


def test_airflow_neither_stores_nor_logs_a_secret(
    plane: FakeControlPlane, airflow_run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with DAG("secret_dag") as dag:
        task = deploy(KAFKA="conn:shop_kafka.password")
    context = airflow_run.context(task)

    task.render_template_fields(context)
    result = airflow_run.execute(task)

    rendered = {field: getattr(task, field) for field in task.template_fields}
    assert airflow_run.store is not None
    stored = [rendered, result, airflow_run.pushed, airflow_run.store.values, DagSerialization.serialize_dag(dag)]
    assert "sesame" not in str(stored) + caplog.text
    assert task.sql == SQL


def test_a_retry_sends_nothing_again_and_a_secret_that_has_changed_is_sent(
    plane: FakeControlPlane, airflow_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    airflow_run.execute(deploy(KAFKA="conn:shop_kafka.password"))
    airflow_run.execute(deploy(KAFKA="conn:shop_kafka.password"))
    assert len(plane.matching_requests("PUT")) == 1

    monkeypatch.setenv("AIRFLOW_CONN_SHOP_KAFKA", json.dumps({**KAFKA, "password": "another"}))
    airflow_run.execute(deploy(KAFKA="conn:shop_kafka.password"))

    first, second = plane.matching_requests("PUT")
    assert second.body["secrets"] == {"KAFKA": "another"}
    assert first.key != second.key


def test_a_pipeline_that_failed_for_a_wrong_secret_gets_the_right_one(
    plane: FakeControlPlane, airflow_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    airflow_run.execute(deploy(KAFKA="conn:shop_kafka.password"))
    plane.pipelines["pl_1"].become("Failed")
    monkeypatch.setenv("AIRFLOW_CONN_SHOP_KAFKA", json.dumps({**KAFKA, "password": "right"}))

    assert airflow_run.execute(deploy(KAFKA="conn:shop_kafka.password"))["state"] == "Running"
    assert plane.matching_requests("PUT")[-1].body["secrets"] == {"KAFKA": "right"}


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("conn:nobody.password", "connection 'nobody', which does not exist"),
        ("conn:shop_kafka.host", "no host of connection 'shop_kafka'"),
        ("conn:shop_kafka.extra.other", "no extra.other of connection 'shop_kafka'"),
        ("var:nothing", "no variable 'nothing'"),
    ],
)
def test_a_secret_that_is_not_there_is_named_and_spends_no_retries(
    plane: FakeControlPlane, airflow_run: Run, source: str, words: str
) -> None:
    with pytest.raises(SecretError, match=words) as raised:
        airflow_run.execute(deploy(KAFKA=source))

    assert isinstance(raised.value, AirflowFailException)
    assert not plane.matching_requests("PUT")


@pytest.mark.parametrize("secrets", [{"KAFKA": "hunter2"}, {"KAFKA": "conn:kafka"}, {"A B": "var:x"}])
def test_an_invalid_secret_reference_is_refused_at_parse_time_without_repeating_it(secrets: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="secret") as raised:
        deploy(**secrets)

    assert "hunter2" not in str(raised.value)
