"""The example with one gate for two streams, on a real engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dag_runs import play

pytestmark = pytest.mark.timeout(600)


def test_rows_read_after_the_gate_are_complete_in_both_pipelines(tmp_path: Path) -> None:
    run = play("several_pipelines_one_gate", tmp_path)

    assert set(run.states.values()) == {"success"}
    assert sorted(map(sorted, run.returned["compare"].values())) == [[3600, 3600]] * 2
    gates = run.returned["both_complete"]["pipelines"]
    assert set(gates) == {"visits_per_hour/hours", "sales_per_hour/hours"}
    assert all(gate["certificate"] for gate in gates.values())
