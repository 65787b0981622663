"""The example that keeps a savepoint every night, on a real engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dag_runs import play

pytestmark = pytest.mark.timeout(600)


def test_a_savepoint_is_taken_proven_and_kept(tmp_path: Path) -> None:
    run = play("nightly_savepoint", tmp_path)

    assert set(run.states.values()) == {"success"}
    saved = run.returned["savepoint"]
    assert saved["proven_at"]
    assert Path(saved["path"]).is_dir()
    fate = {"id": saved["savepoint_id"], "goes": False, "reason": "it is the newest"}
    assert [run.returned[task]["fates"] for task in ("would_go", "keep")] == [[fate], [fate]]
    assert f"{saved['savepoint_id']}  stays  it is the newest" in run.output
