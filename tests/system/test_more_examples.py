"""Examples that need nothing but the embedded control plane, played from end to end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dag_runs import play

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("example", ["folder_of_sql", "hourly_batch_gate", "tell_people", "try_a_script"])
def test_all_its_tasks_succeed(example: str, tmp_path: Path) -> None:
    assert set(play(example, tmp_path).states.values()) == {"success"}
