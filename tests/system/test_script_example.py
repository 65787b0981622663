"""The example whose script is written by a function, on a real engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.dag_runs import play

pytestmark = pytest.mark.timeout(600)


def test_each_shop_of_the_list_gets_its_orders_once(tmp_path: Path) -> None:
    run = play("script_from_a_list", tmp_path)

    assert set(run.states.values()) == {"success"}
    assert run.returned["orders_by_shop"]["state"] == "Finished"
    files = {path.stem: path.read_text().splitlines() for path in (tmp_path / "data" / "shops").glob("*.json")}
    assert {shop: sorted(json.loads(line)["order_id"] for line in lines) for shop, lines in files.items()} == {
        shop: list(range(first, 300, 3)) for first, shop in enumerate(["north", "south", "west"])
    }
