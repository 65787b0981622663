"""The example from Kafka to a report, with a real broker: what it reports follows from what is in the topic."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import duckdb
import pytest

from tests.dag_runs import play
from tests.kafka.broker import running

pytestmark = pytest.mark.timeout(900)


def test_the_report_of_an_hour_is_that_of_all_its_orders_in_the_topic(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with running(tmp_path / "kafka") as broker:
        shop = {"conn_type": "kafka", "host": broker.address}
        run = play("kafka_to_parquet_report", home, {"AIRFLOW_CONN_SHOP_KAFKA": json.dumps(shop)})
        orders = [json.loads(message.value() or b"") for message in broker.read("shop_orders")]

    assert set(run.states.values()) == {"success"}
    assert len(orders) == run.returned["fill"] == 18_000
    sold: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for order in orders:
        if order["ordered_at"] < "2026-01-01T01":
            sold[order["shop"]][0] += 1
            sold[order["shop"]][1] += order["cents"]
    reported = run.returned["report"]
    assert reported["sold"] == dict(sold)
    assert sum(count for count, _ in sold.values()) == 9000
    with duckdb.connect() as database:
        rows = database.read_parquet(reported["report"]).fetchall()
    assert rows == [(shop, *figures) for shop, figures in sorted(sold.items())]
