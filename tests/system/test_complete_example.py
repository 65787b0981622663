"""The example that waits in the operator, on a real engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dag_runs import play

pytestmark = pytest.mark.timeout(600)


def test_rows_read_after_the_gate_are_complete(tmp_path: Path) -> None:
    run = play("complete_hours", tmp_path)

    assert set(run.states.values()) == {"success"}
    assert sorted(run.returned["count_clicks"].values()) == [3600, 3600]
    assert run.returned["deploy"]["certificate"]
