"""The example that hands hours on, on a real engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dag_runs import play

pytestmark = pytest.mark.timeout(600)


def test_the_first_hour_is_handed_on_with_its_certificate(tmp_path: Path) -> None:
    run = play("batch_by_partitions", tmp_path)

    assert set(run.states.values()) == {"success"}
    assert run.returned["next_hour"]["key"] == "2026-01-01T00:00:00"
    assert run.returned["next_hour"]["certificate"]["pipeline"] == run.returned["deploy"]["pipeline_id"]


def test_an_hour_that_rows_came_late_for_is_handed_on_once_more_and_reported_whole(tmp_path: Path) -> None:
    run = play("late_rows_reopen_an_hour", tmp_path)

    assert set(run.states.values()) == {"success"}
    assert [run.returned[task]["kind"] for task in ("closed", "reopened")] == ["closed", "reopened"]
    assert run.returned["closed"]["key"] == run.returned["reopened"]["key"] == "2026-01-01T00:00:00"
    assert run.returned["report"] == {"kind": "reopened", "in_time": 9000, "late": 3}
