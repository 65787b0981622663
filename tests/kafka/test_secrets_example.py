"""The example that logs in to Kafka, with a broker that asks for the password."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.dag_runs import play
from tests.kafka.broker import PASSWORD, USER, Broker

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]


def test_the_password_of_a_connection_lets_a_pipeline_in_and_is_shown_nowhere(broker: Broker, tmp_path: Path) -> None:
    broker.create_topic("orders")
    shop = {"conn_type": "kafka", "host": broker.sasl_address, "login": USER, "password": PASSWORD}

    run = play("kafka_secrets", tmp_path, {"AIRFLOW_CONN_SHOP_KAFKA": json.dumps(shop)})

    assert set(run.states.values()) == {"success"}
    assert PASSWORD not in run.output
    assert [path for path in tmp_path.rglob("*") if path.is_file() and PASSWORD.encode() in path.read_bytes()] == []
