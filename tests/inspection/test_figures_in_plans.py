"""A plan says how many rows of state are kept or lost, as the files of the state have them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.checkpoints.running_query import compile_running, query_of_state
from engine.cli.main import main
from engine.control.upgrades.plan_upgrade import plan_fork, plan_hand_over, plan_upgrade
from engine.errors import UnreadableStateError
from engine.inspection.summary import operator_figures
from engine.jobs.decisions.spec import Upgrade
from tests.inspection.conftest import Kept
from tests.kept.cases import CASES

SQL = CASES["windows"].sql
WITHOUT_HOPS = SQL[: SQL.index("INSERT INTO hops")] + SQL[SQL.index("INSERT INTO sessions") :]


def savepoint_with_script(state: Path) -> Path:
    """The savepoint of a state, which names its script as those of today do."""
    manifest = state / "savepoints/kept/manifest.json"
    recorded = json.loads((state / "pipeline.json").read_text())
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "sql": recorded["sql"]}))
    return manifest.parent


@pytest.mark.parametrize("place", ["state", "savepoint"])
def test_rows_and_bytes_are_shown_for_each_operator(
    kept: Kept, tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    state, script = kept("windows"), tmp_path / "new.sql"
    script.write_text(WITHOUT_HOPS)
    chosen = ["--state-dir", str(state)]
    rows = {"tumble": 2, "session": 10, "hop": 11}
    if place == "savepoint":
        chosen, rows = ["--savepoint", str(savepoint_with_script(state))], {"tumble": 2, "session": 10, "hop": 8}

    assert main(["plan", str(script), *chosen, "--format", "json"]) == 2

    verdicts = json.loads(capsys.readouterr().out)["verdicts"]
    told = {verdict["name"].split("-")[0]: verdict for verdict in verdicts if verdict["subject"] == "operator"}
    assert {kind: verdict["rows"] for kind, verdict in told.items()} == rows
    assert all(verdict["bytes"] > 0 for verdict in told.values())
    assert told["hop"]["change"] == "REFUSED"


def test_the_plan_of_a_control_plane_tells_them_too(kept: Kept) -> None:
    shown = plan_upgrade(kept("windows"), WITHOUT_HOPS, (), Upgrade())

    assert shown is not None
    assert "11 rows in " in shown.text
    assert "11 rows in " in shown.markdown


def test_the_plan_of_a_fork_tells_what_its_savepoint_holds(kept: Kept) -> None:
    found = plan_fork(savepoint_with_script(kept("windows")), WITHOUT_HOPS, (), Upgrade())

    assert "8 rows in " in found.upgrade.text
    assert "8 rows in " in found.upgrade.markdown


def test_the_plan_of_a_hand_over_tells_what_the_copy_holds(kept: Kept) -> None:
    state = kept("windows")

    shown, _ = plan_hand_over(state, state, SQL, ())

    assert "11 rows in " in shown.text
    assert "11 rows in " in shown.markdown


def test_rows_that_come_meanwhile_leave_the_id_as_it_is(kept: Kept) -> None:
    state = kept("windows")
    before = plan_upgrade(state, WITHOUT_HOPS, (), Upgrade())
    for path in (state / "checkpoint/offsets/3", state / "checkpoint/offsets/4", state / "checkpoint/commits/3"):
        path.unlink()
    after = plan_upgrade(state, WITHOUT_HOPS, (), Upgrade())

    assert before is not None
    assert after is not None
    assert (before.id, before.text) != (after.id, after.text)
    assert before.id == after.id


def test_a_state_that_is_being_swapped_is_not_taken_for_none(kept: Kept) -> None:
    state = kept("windows")
    (state / "incoming").mkdir()
    (state / "pipeline.json").rename(state / "incoming" / "pipeline.json")

    with pytest.raises(UnreadableStateError, match="it is being replaced"):
        plan_upgrade(state, WITHOUT_HOPS, (), Upgrade())


def test_an_unreadable_state_has_no_figures(kept: Kept) -> None:
    state = kept("updating_joins")
    program = compile_running(query_of_state(state))
    for path in (state / "checkpoint/state/0/0").glob("*.zip"):
        path.write_bytes(b"?")

    assert operator_figures(state, program) == {}
