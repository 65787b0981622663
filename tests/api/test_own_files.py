"""Pipelines can neither read nor write what the control plane stores for itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.control.upgrades.plan_query import plan_query
from engine.jobs.disk import DataDirectory, make
from tests.api.conftest import Plane

SOURCE = """CREATE TABLE s (value TEXT) WITH (
    connector = '{connector}', path = '{path}', format = 'raw_string', type = 'source'{more});"""
SINK = """CREATE TABLE o (value TEXT) WITH (
    connector = 'single_file', path = '{path}', format = 'raw_string', type = 'sink');"""
INSERT = "INSERT INTO o SELECT value FROM s;"


@pytest.fixture
def real(plane: Plane) -> Plane:
    """A control plane that plans with the compiler."""
    plane.http.app.state.context = plane.plans_by(plan=plan_query)  # type: ignore[attr-defined]
    return plane


def put(plane: Plane, source: Path, sink: Path, connector: str = "single_file", more: str = "") -> tuple[int, Any]:
    read, write = SOURCE.format(connector=connector, path=source, more=more), SINK.format(path=sink)
    answer = plane.http.put("/api/v1/pipelines/by-name/a", json={"query": f"{read} {write} {INSERT}"})
    return answer.status_code, answer.json()


@pytest.mark.parametrize(
    "name", ["token", "secrets.key", "arroyo.db", "arroyo.db-wal", "runs/x", "state", "x/../token"]
)
def test_own_files_are_neither_sources_nor_sinks(real: Plane, tmp_path: Path, name: str) -> None:
    for source, sink in [(tmp_path / name, tmp_path / "out"), (tmp_path / "in", tmp_path / name)]:
        status, problem = put(real, source, sink)

        assert (status, problem["code"]) == (422, "request.invalid"), problem
        assert "the control plane's own files" in problem["detail"]
        assert real.get("/pipelines")["data"] == []


def test_links_to_own_files_and_the_data_directory_itself_are_refused(real: Plane, tmp_path: Path) -> None:
    (tmp_path / "harmless").symlink_to(tmp_path / "token")

    assert put(real, tmp_path / "harmless", tmp_path / "out")[0] == 422
    assert put(real, tmp_path, tmp_path / "out", connector="filesystem")[0] == 422


def test_dropped_rows_are_not_written_among_own_files(real: Plane, tmp_path: Path) -> None:
    more = f", bad_data = 'dead_letter', 'dead_letter.path' = '{tmp_path / 'state'}'"

    assert put(real, tmp_path / "in", tmp_path / "out", more=more)[0] == 422


def test_other_files_below_the_data_directory_are_for_pipelines(real: Plane, tmp_path: Path) -> None:
    assert put(real, tmp_path / "tokens.json", tmp_path / "out" / "state")[0] == 201


def test_all_paths_of_a_data_directory_are_its_own(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    declared = [getattr(directory, name) for name, value in vars(DataDirectory).items() if isinstance(value, property)]
    paths = [path for path in declared if isinstance(path, Path)]

    assert len(paths) > 10
    assert [path for path in paths if not directory.is_own(path)] == []
    assert directory.is_own(directory.state(make("pl")) / "checkpoint")
