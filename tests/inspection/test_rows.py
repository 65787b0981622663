"""The rows of an operator are shown as a table with the names of the script."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.checkpoints.layout import StatePaths
from engine.checkpoints.running_query import compile_running, query_of_state
from engine.cli.main import main
from engine.errors import NoStateError, UnknownSubjectError, UnreadableStateError
from engine.inspection.rows import KeptRow, names_of_window, operator_named, rows_of_buckets, shown_rows
from engine.inspection.summary import summarize_state
from tests.inspection.conftest import Kept

UPDATING = ("updating_joins", "updating_aggregates", "updating_top")


def run(*arguments: object) -> int:
    return main(["state", "rows", *map(str, arguments)])


@pytest.mark.parametrize("case", UPDATING)
def test_number_of_shown_rows_equals_the_count(kept: Kept, case: str) -> None:
    state = kept(case)
    program, figures = compile_running(query_of_state(state)), summarize_state(state).operators

    counts = [sum(1 for _ in rows_of_buckets(StatePaths(state), operator)) for operator in program.operators]

    assert counts == [operator.rows for operator in figures]
    assert all(counts)


def test_sides_of_a_join_have_the_columns_of_the_script(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(0, "--state-dir", kept("updating_joins"), "--json", "--limit", 1000) == 0

    rows = json.loads(capsys.readouterr().out)
    assert {row["table"] for row in rows} == {"left side", "right side"}
    right = [row["columns"] for row in rows if row["table"] == "right side"]
    assert sorted((row["ten"], row["n"]) for row in right) == [(ten, 10) for ten in range(8)]
    assert right[0]["last change"].startswith("2023-10-09T17:13:")


def test_groups_are_the_batch_answer(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    state = kept("updating_joins")
    operator = summarize_state(state).operators[2].id

    assert run(operator, "--state-dir", state, "--key", "count(*)=10", "--format", "table") == 0

    head, *lines = capsys.readouterr().out.splitlines()[1:]
    assert head.split()[:2] == ["PART", "rows"]
    assert sorted(line.split()[-2:] for line in lines) == [[str(ten), "10"] for ten in range(8)]


def test_values_that_are_kept_for_an_aggregate_say_for_which(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(0, "--state-dir", kept("updating_aggregates"), "--limit", 9999) == 0

    text = capsys.readouterr().out
    assert "values of count(DISTINCT driver_id)\nPART  rows  driver_id" in text
    assert "groups\nPART  rows  last change               event_type  count(*)" in text


def test_rows_of_a_savepoint_are_shown(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(2, "--state-dir", kept("updating_joins"), "--savepoint", "kept", "--json") == 0

    assert sum(row["columns"]["count(*)"] for row in json.loads(capsys.readouterr().out)) == 40


def test_unknown_operator_or_state_is_refused(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    state = kept("updating_joins")

    assert run("tumble-1", "--state-dir", state) == 2
    assert "updating-join-6f8ef23c" in capsys.readouterr().err
    assert run(0, "--state-dir", state, "--key", "user=1") == 2
    assert "no rows have a column user" in capsys.readouterr().err
    assert run(0, "--state-dir", state, "--key", "user=a=1") == 2
    assert "no rows have a column user or user=a" in capsys.readouterr().err
    assert run(0, "--state-dir", state, "--key", "user") == 2
    assert run(0) == 2
    assert main(["state", "rows", "--state-dir", str(state)]) == 2


def test_a_damaged_partition_is_named(kept: Kept) -> None:
    state = kept("updating_joins")
    program = compile_running(query_of_state(state))
    next((state / "checkpoint/state/0/0/SSTs").glob("*.sst")).write_bytes(b"")

    with pytest.raises(UnreadableStateError, match="holds a file that is empty"):
        list(rows_of_buckets(StatePaths(state), operator_named(program, "0")))


def test_a_state_without_an_epoch_has_no_rows(kept: Kept, tmp_path: Path) -> None:
    program = compile_running(query_of_state(kept("updating_joins")))

    with pytest.raises(NoStateError):
        list(rows_of_buckets(StatePaths(tmp_path), operator_named(program, "0")))


def test_columns_of_a_window_are_named_where_it_is_known_which_they_are(kept: Kept) -> None:
    windows = compile_running(query_of_state(kept("windows"))).operators

    assert names_of_window(windows[2], ["_key0_of_group"], ["count"]) == (
        ["(CAST(counter AS BIGINT) % 10)"],
        ["count(*)"],
    )
    assert names_of_window(windows[0], [], ["count", "sum", "buf"]) == ([], ["count", "sum", "buf"])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('["é"]', ["é"]),
        ('["\\u00e9"]', ["é"]),
        ('{"b": 1,"a":[true]}', {"a": [True], "b": 1}),
        ("2", 2.0),
        ("2.0", 2.0),
        ("2.5", 2.5),
        ("NaN", float("nan")),
        ("9007199254740993", 9007199254740993),
    ],
)
def test_a_value_is_asked_for_as_the_page_or_the_command_line_spells_it(text: str, value: object) -> None:
    rows = [KeptRow(0, "rows", {"v": value}), KeptRow(1, "rows", {"v": "other"})]

    assert [row["partition"] for row in shown_rows(iter(rows), [f"v={text}"], 9)] == [0]
    assert shown_rows(iter(rows), ["v=9007199254740992"], 9) == []
    assert shown_rows(iter(rows), ["v=" + "[" * 50_000], 9) == []


def test_a_limit_ends_the_reading(kept: Kept) -> None:
    state = kept("updating_joins")
    operator = operator_named(compile_running(query_of_state(state)), "0")
    rows = rows_of_buckets(StatePaths(state), operator)

    assert len(shown_rows(rows, (), 2)) == 2
    assert next(rows) is not None
    with pytest.raises(UnknownSubjectError):
        operator_named(compile_running(query_of_state(state)), "7")


@pytest.mark.parametrize(
    ("condition", "met"),
    [
        ("note=a=b", [0]),
        ("note=a", []),
        ("note==", [1]),
        ("note=", [2]),
        ("n = 1=true", [0]),
        ('n = 1=[1, "a"]', [1]),
        ('n = 1=[1,"a"]', [1]),
        ("n = 1=NULL", [2]),
        ("n = 1=null", [2]),
        ("n = 1=1", []),
        ("n = 1=a=b", []),
    ],
)
def test_values_are_asked_for_as_they_are_shown_whatever_stands_in_them(condition: str, met: list[int]) -> None:
    columns = [{"note": "a=b", "n = 1": True}, {"note": "=", "n = 1": [1, "a"]}, {"note": "", "n = 1": None}]
    rows = [KeptRow(number, "rows", values) for number, values in enumerate(columns)]

    assert [row["partition"] for row in shown_rows(iter(rows), [condition], 9)] == met
