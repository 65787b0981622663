"""A start position that a run would refuse is refused by its plan, and one that counts is said there."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.cli.main import main
from engine.control.upgrades.plan_reprocess import check_redone, check_starts
from engine.control.upgrades.plan_upgrade import plan_upgrade
from engine.errors import StartPositionError
from engine.jobs.decisions.spec import Upgrade
from engine.values.start_positions import read_starts
from tests.inspection.conftest import Kept
from tests.kept.cases import CASES

SQL = CASES["updating_joins"].sql
MORE = """
CREATE TABLE more (n BIGINT) WITH (connector = 'kafka', bootstrap_servers = 'b:1', topic = 't', format = 'json',
  type = 'source');
CREATE TABLE copies (n BIGINT) WITH (connector = 'single_file', path = 'copies', format = 'json', type = 'sink');
INSERT INTO copies SELECT n FROM more;
"""
FILES = MORE.replace("'kafka', bootstrap_servers = 'b:1', topic = 't'", "'filesystem', path = '/in'")


def check(place: Path | None, sql: str, said: str, reset: tuple[str, ...] = ()) -> None:
    check_starts(place, sql, (), read_starts([said], "start_from"), Upgrade(reset=reset))


@pytest.mark.parametrize(
    ("sql", "said", "complaint"),
    [
        (SQL, "impulse=earliest", "goes on from where its state has it"),
        (SQL + MORE, "impulse=earliest", "goes on from where its state has it"),
        (SQL, "more=latest", "the script does not read more"),
        (SQL + MORE, "more=savepoint", "the state has no place of it"),
    ],
)
def test_plan_refuses_a_start_position_that_a_run_would_refuse(kept: Kept, sql: str, said: str, complaint: str) -> None:
    state = kept("updating_joins")

    with pytest.raises(StartPositionError, match=complaint):
        check(state, sql, said)


def test_plan_accepts_a_start_position_that_a_run_would_use(kept: Kept) -> None:
    state = kept("updating_joins")

    check(state, SQL + MORE, "more=latest")
    check(state, SQL + MORE, "impulse=savepoint")
    check(state, SQL + MORE, "impulse=earliest", ("impulse",))
    check(None, SQL + MORE, "impulse=earliest")


@pytest.mark.parametrize(
    ("offset", "said", "is_moved"),
    [
        ("latest", [], True),
        ("group", [], True),
        ("earliest", [], False),
        ("earliest", ["more=latest"], True),
        ("latest", ["more=timestamp:2026-01-01T00:00:00Z"], False),
    ],
)
def test_a_query_that_is_brought_back_begins_no_table_at_another_place(
    kept: Kept, offset: str, said: list[str], *, is_moved: bool
) -> None:
    savepoint = kept("updating_joins")
    sql = SQL + MORE.replace("topic = 't'", f"topic = 't', 'source.offset' = '{offset}'")

    def look() -> None:
        check_redone(savepoint, sql, (), read_starts(said, "start_from"), Upgrade())

    if is_moved:
        with pytest.raises(StartPositionError, match=r"more would begin at .* once more, which is another place"):
            look()
    else:
        look()


def test_without_state_names_and_kinds_are_looked_at() -> None:
    with pytest.raises(StartPositionError, match="does not read clicks"):
        check(None, MORE, "clicks=latest")
    with pytest.raises(StartPositionError, match="no such place"):
        check(
            None,
            MORE.replace("'kafka', bootstrap_servers = 'b:1', topic = 't'", "'filesystem', path = '/in'"),
            "more=group",
        )


def test_the_plan_says_where_a_new_table_begins_and_is_another_one_for_it(kept: Kept) -> None:
    state = kept("updating_joins")
    silent = plan_upgrade(state, SQL + MORE, (), Upgrade())
    told = plan_upgrade(state, SQL + MORE, (), Upgrade(), read_starts(["more=latest"], "start_from"))

    assert silent is not None
    assert told is not None
    assert "it is read from where its options say" in silent.text
    assert "it is read from its start position latest" in told.text
    assert silent.id != told.id


def test_the_verb_says_it_too(kept: Kept, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state, script = kept("updating_joins"), tmp_path / "new.sql"
    script.write_text(SQL + MORE)
    asked = ["plan", str(script), "--state-dir", str(state), "--start-from"]

    assert main([*asked, "more=latest"]) == 0
    assert "its start position latest" in capsys.readouterr().out
    assert main([*asked, "others=latest"]) != 0
    assert "the script does not read others" in capsys.readouterr().err
