"""The answer says where everything is, what takes the room, and what the next sweep removes."""

from __future__ import annotations

from pathlib import Path

from tests.api.conftest import Plane
from tests.api.test_sweep import _plant


def test_the_largest_pipeline_comes_first_with_what_its_savepoints_alone_take(plane: Plane) -> None:
    small, large = plane.deploy("small"), plane.deploy("large")
    (Path(small["state_dir"]) / "savepoints" / "sp_1").mkdir(parents=True)
    (Path(small["state_dir"]) / "savepoints" / "sp_1" / "rows").write_bytes(b"12345")
    (Path(large["state_dir"]) / "checkpoint").mkdir(parents=True)
    (Path(large["state_dir"]) / "checkpoint" / "rows").write_bytes(b"x" * 1_000_000)
    plane.http.put("/api/v1/pipelines/small/savepoint-retention", json={"keep_last": 3})

    shown = plane.get("/storage")

    assert [each["pipeline"] for each in shown["pipelines"]] == ["large", "small"]
    assert shown["pipelines"][0]["state_bytes"] == 1_000_000
    assert (shown["pipelines"][1]["savepoint_bytes"], shown["pipelines"][1]["savepoints"]) == (5, 1)
    assert [each["retention"]["keep_last"] for each in shown["pipelines"]] == [None, 3]
    assert shown["data_dir"] == str(plane.context.directory.root)
    assert shown["free_bytes"] == 2**60


def test_storage_report_lists_what_a_sweep_would_remove_without_removing_it(plane: Plane) -> None:
    pipeline = plane.deploy()
    planted = _plant(Path(pipeline["state_dir"]) / "logs" / "scratch-4000000" / "rows")

    shown = plane.get("/storage")

    assert [(leak["kind"], leak["bytes"]) for leak in shown["leaks"]] == [("scratch", 5)]
    assert shown["leaks"] == plane.http.post("/api/v1/sweep?dry_run=true").json()["leaks"]
    assert planted.exists()
