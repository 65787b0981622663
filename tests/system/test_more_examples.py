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


def test_checkpoints_come_that_were_waited_for_and_an_upgrade_keeps_what_a_query_knows(tmp_path: Path) -> None:
    runs = play_all(["checkpoint_gate", "upgrade_with_state", "maintenance_window"], tmp_path)

    assert {state for run in runs.values() for state in run.states.values()} == {"success"}
    gates = runs["checkpoint_gate"].returned
    assert gates["two_more"]["epoch"] >= gates["first"]["epoch"] + 2
    maintenance = runs["maintenance_window"].returned
    assert (maintenance["pause"]["state"], maintenance["resume"]["state"]) == ("Stopped", "Running")
    assert maintenance["goes_on"]["epoch"] > maintenance["pause"]["epoch"]
    upgrade = runs["upgrade_with_state"].returned
    assert upgrade["plan"]["loses_nothing"]
    assert (upgrade["deploy"]["version"], upgrade["upgrade"]["version"]) == (1, 2)
    assert upgrade["goes_on"]["epoch"] > upgrade["some_state"]["epoch"]


def test_approved_upgrade_is_deployed_and_rolled_back(tmp_path: Path) -> None:
    [run] = play_all(["upgrade_with_approval"], tmp_path, answers={"upgrade": "Approve"}).values()

    assert set(run.states.values()) == {"success"}
    assert (run.returned["deploy"]["version"], run.returned["upgrade"]["version"]) == (1, 2)
    assert run.returned["roll_back"]["version"] == 3


def test_output_of_a_library_at_exit_is_ignored(tmp_path: Path) -> None:
    library = tmp_path / "library" / "sitecustomize.py"
    library.parent.mkdir()
    library.write_text("import atexit\natexit.register(print, 'the last of my spans are sent')\n")

    assert play_all([], tmp_path, {"PYTHONPATH": str(library.parent)}) == {}
