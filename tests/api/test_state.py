"""The state of a pipeline is shown as it lies on the control plane's disk."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

from tests.api.conftest import Plane

KEPT = Path(__file__).parents[1] / "kept" / "2026-11" / "windows.tar.xz"


def test_a_state_is_shown(plane: Plane, tmp_path: Path) -> None:
    plane.run(query="SELECT 1")
    with tarfile.open(KEPT) as packed:
        packed.extractall(tmp_path / "unpacked", filter="data")
    state = plane.context.directory.state(plane.get("/pipelines/orders")["id"])
    shutil.rmtree(state, ignore_errors=True)
    shutil.copytree(tmp_path / "unpacked" / "state", state)

    shown = plane.get("/pipelines/orders/state")

    assert (shown["name"], shown["epoch"], shown["begun"]) == ("orders", 3, 4)
    assert [operator["rows"] for operator in shown["operators"]] == [2, 11, 10]


def test_a_pipeline_without_state_has_none_to_show(plane: Plane) -> None:
    plane.run(query="SELECT 1")

    answer = plane.http.get("/api/v1/pipelines/orders/state")

    assert (answer.status_code, answer.json()["code"]) == (409, "state.missing")
