"""The state of a pipeline is shown as it lies on the control plane's disk."""

from __future__ import annotations

import shutil
import tarfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from engine.errors import StateRowsError
from engine.jobs.processes.probes import LocalStateRows, RowsOrder
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


@pytest.fixture
def joined(plane: Plane, tmp_path: Path) -> Plane:
    """A control plane with a pipeline that keeps rows, which are read in processes of their own."""
    plane.run(query="SELECT 1")
    with tarfile.open(KEPT.with_name("updating_joins.tar.xz")) as packed:
        packed.extractall(tmp_path / "unpacked", filter="data")
    state = plane.context.directory.state(plane.get("/pipelines/orders")["id"])
    shutil.rmtree(state, ignore_errors=True)
    shutil.copytree(tmp_path / "unpacked" / "state", state)
    plane.context = replace(plane.context, read_state_rows=LocalStateRows().read)
    plane.http.app.state.context = plane.context  # type: ignore[attr-defined]
    return plane


def test_rows_of_an_operator_are_shown_by_their_key(joined: Plane) -> None:
    operator = joined.get("/pipelines/orders/state")["operators"][2]["id"]

    shown = joined.get(f"/pipelines/orders/state/rows?operator={operator}&limit=5")
    chosen = joined.get(f"/pipelines/orders/state/rows?operator={operator}&key=count(*)%3D10&limit=1")

    assert (len(shown["data"]), shown["has_more"]) == (5, True)
    assert [row["columns"]["count(*)"] for row in chosen["data"]] == [10]
    assert chosen["has_more"] is True


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("operator=none", "state.unknown_subject"),
        ("operator=0&key=nothing%3D1", "state.unknown_subject"),
        ("operator=0&key=nothing", "request.invalid"),
        ("operator=0&limit=0", "request.invalid"),
    ],
)
def test_rows_that_nobody_has_are_refused(joined: Plane, query: str, code: str) -> None:
    assert joined.http.get(f"/api/v1/pipelines/orders/state/rows?{query}").json()["code"] == code


def test_rows_are_read_one_at_a_time_and_not_for_ever(tmp_path: Path) -> None:
    order = RowsOrder(str(tmp_path), "0", (), 1)
    reader = LocalStateRows(limit=timedelta(0))

    with pytest.raises(StateRowsError, match="within 0 seconds"):
        reader.read(order)
    reader._turn.acquire()
    with pytest.raises(StateRowsError, match="already"):
        reader.read(order)
