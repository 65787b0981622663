"""Examples that need nothing but the embedded control plane, played from end to end, several in a process."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from tests.dag_runs import play_all

pytestmark = pytest.mark.timeout(2400)


@pytest.mark.parametrize(
    "examples",
    [
        ["folder_of_sql", "hourly_batch_gate"],
        ["tell_people", "try_a_script"],
    ],
    ids=" and ".join,
)
def test_all_tasks_succeed(examples: list[str], tmp_path: Path) -> None:
    runs = play_all(examples, tmp_path)

    assert list(runs) == examples
    assert {state for run in runs.values() for state in run.states.values()} == {"success"}


def test_a_backfill_whose_input_ends_is_whole(tmp_path: Path) -> None:
    [run] = play_all(["bounded_backfill"], tmp_path).values()

    assert set(run.states.values()) == {"success"}
    with duckdb.connect() as database:
        hours = database.sql(f"SELECT clicks FROM '{tmp_path}/data/clicks/*/*.parquet' ORDER BY hour").fetchall()
    assert hours == [(3600,)] * 5 + [(2000,)]
