"""A control plane that tells a file of its runs, and is killed in between."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.system.conftest import Served, until

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]


def test_each_state_of_a_run_is_told_also_those_that_came_while_the_control_plane_was_dead(
    plane: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "events.jsonl"
    monkeypatch.setenv("ARROYO__OPENLINEAGE__FILE", str(path))
    monkeypatch.setenv("ARROYO__OPENLINEAGE__NAMESPACE", "shop")

    def told() -> list[dict[str, Any]]:
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def kinds() -> list[str]:
        return list(dict.fromkeys(event["eventType"] for event in told()))

    plane.start().deploy(says="-- holds: 5")
    until(kinds, lambda seen: seen == ["START", "RUNNING"])
    plane.end(signal.SIGKILL)
    plane.start().patch(stop="checkpoint")
    plane.until(state="Stopped")
    until(kinds, lambda seen: seen == ["START", "RUNNING", "ABORT"])
    plane.end()

    events = told()
    assert len({event["run"]["runId"] for event in events}) == 1
    assert {(event["job"]["namespace"], event["job"]["name"]) for event in events} == {("shop", "orders")}
    assert [each["name"] for each in events[0]["inputs"]] == ["orders.impulse"]
    assert [each["name"] for each in events[0]["outputs"]] == ["orders.out"]
