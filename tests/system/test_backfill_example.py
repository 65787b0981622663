"""The example that reads history and goes on from it, on a real engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.dag_runs import play

pytestmark = pytest.mark.timeout(900)


def test_a_day_of_history_is_read_once_and_the_stream_goes_on_behind_it(tmp_path: Path) -> None:
    run = play("backfill_then_stream", tmp_path)

    assert set(run.states.values()) == {"success"}
    assert run.returned["first_day"]["name"] == "orders_20260101T000000Z_20260102T000000Z"
    assert run.returned["first_day"]["state"] == "Finished"
    assert run.returned["stream"]["name"] == "orders"
    days = [path for path in tmp_path.rglob("*.json") if "2026-01-01" in path.parts and path.parent.name != "orders"]
    rows = [json.loads(line) for path in days for line in path.read_text().splitlines()]
    assert sorted(row["hour"][:13] for row in rows) == [f"2026-01-01T{hour:02}" for hour in range(24)]
    assert {row["orders"] for row in rows} == {1}
