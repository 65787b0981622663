"""The example that logs in to Kafka, with a broker that asks for the password."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.dag_runs import play
from tests.kafka.broker import PASSWORD, USER, running

pytestmark = pytest.mark.timeout(900)


def test_the_password_of_a_connection_lets_a_pipeline_in_and_is_shown_nowhere(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with running(tmp_path / "kafka") as broker:
        broker.create_topic("orders")
        shop = {"conn_type": "kafka", "host": broker.sasl_address, "login": USER, "password": PASSWORD}
        connection = {"AIRFLOW_CONN_SHOP_KAFKA": json.dumps(shop)}
        run = play("kafka_secrets", home, connection, {"protocol": "SASL_PLAINTEXT"})

    assert set(run.states.values()) == {"success"}
    assert PASSWORD not in run.output
    assert files_with(home, PASSWORD) == []


def files_with(folder: Path, text: str) -> list[Path]:
    """The files below a folder in which a text stands."""
    return [path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]
