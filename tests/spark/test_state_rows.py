"""Spark finds as many rows of windows in a state as we count, and their columns have the names of the script."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

from engine.checkpoints.layout import StatePaths
from engine.checkpoints.running_query import compile_running, query_of_state
from engine.inspection.rows import shown_rows
from engine.inspection.summary import summarize_state
from engine.spark.state.state_rows import rows_of_window

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEPT = Path(__file__).parents[1] / "kept" / "2026-11" / "windows.tar.xz"


def test_spark_finds_the_rows_that_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    with tarfile.open(KEPT) as packed:
        packed.extractall(tmp_path, filter="data")
    state = tmp_path / "state"
    before = {path: path.stat().st_mtime_ns for path in state.rglob("*")}
    operators = compile_running(query_of_state(state)).operators

    rows = [shown_rows(rows_of_window(StatePaths(state), operator, lambda _: spark), (), 99) for operator in operators]

    assert [len(part) for part in rows] == [operator.rows for operator in summarize_state(state).operators]
    tumbles, hops, sessions = ([row["columns"] for row in part] for part in rows)
    # five rows a second: all of one window, and six seconds of the next
    assert sorted(row["count"] for row in tumbles) == [30, 35]
    assert sorted(row["(CAST(counter AS BIGINT) % 10)"] for row in sessions) == list(range(10))
    assert {tuple(row) for row in sessions} == {
        ("window.start", "window.end", "(CAST(counter AS BIGINT) % 10)", "count(*)")
    }
    assert (sessions[0]["window.start"], sessions[0]["window.end"]) == (
        "2023-10-09T17:13:20.000Z",
        "2023-10-09T17:13:37.000Z",
    )
    assert {tuple(row) for row in hops} == {("window.start", "window.end", "min(counter)")}
    assert {path: path.stat().st_mtime_ns for path in state.rglob("*")} == before
