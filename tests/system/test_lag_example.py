"""The example that waits for lag, state and freshness, on a real engine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.dag_runs import play

pytestmark = pytest.mark.timeout(900)


def test_a_stream_that_falls_behind_gets_more_tasks_and_runs_again(tmp_path: Path) -> None:
    run = play("rescale_by_lag", tmp_path)

    assert set(run.states.values()) == {"success"}
    assert run.returned["more_tasks"]["parallelism"] == 2
    assert run.returned["runs"]["state"] == "Running"
    assert datetime.now(UTC) - datetime.fromisoformat(run.returned["behind"]["watermark"]) >= timedelta(seconds=8)
    assert run.returned["fresh"]["epoch"] > run.returned["behind"]["epoch"]
