"""The example that reads its input again beside a running pipeline and hands over, on a real engine: what both have
written, against DuckDB's answer over all orders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.dag_runs import play

pytestmark = pytest.mark.timeout(1800)


def test_each_hour_is_written_once_by_the_pipeline_and_those_before_the_hand_over_once_beside_it(
    tmp_path: Path,
) -> None:
    run = play("reprocess_and_hand_over", tmp_path)

    assert set(run.states.values()) == {"success"}
    assert run.returned["again"]["version"] == 2
    [folder] = (tmp_path / "data" / "reprocessed").iterdir()
    with duckdb.connect() as database:
        of_orders = "SELECT date_trunc('hour', \"at\"::TIMESTAMP) AS start, sum(amount)::BIGINT FROM '{}' GROUP BY 1"
        ordered = _in_order(database, of_orders, folder / "orders" / "*.json")
        of_hours = "SELECT start::TIMESTAMP AS start, amount FROM '{}'"
        written = _in_order(database, of_hours, folder / "hours.json")
        written_again = _in_order(database, of_hours, folder / "again" / "hours.json")
    assert [amount for _, amount in ordered] == [9000] * 4
    assert written == ordered[:3]  # the last hour is open
    assert written_again == ordered[:1]


def _in_order(database: duckdb.DuckDBPyConnection, query: str, files: Path) -> list[tuple[Any, ...]]:
    """What a query over JSON files gives, by `start`."""
    return database.sql(f"{query.format(files)} ORDER BY start").fetchall()
