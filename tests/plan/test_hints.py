"""A hint gives an operator its name, and changes nothing of what it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.cli.main import main
from engine.compile import Program
from tests.changes.test_compare import ALL, GROUP, HOP, JOIN, TUMBLE, program

COUNTS = TUMBLE.removeprefix("INSERT INTO counts ").removesuffix(";\n")


def hinted(script: str, name: str = "visits") -> str:
    """With a hint behind the innermost SELECT."""
    before, after = script.rsplit("SELECT", 1)
    return f"{before}SELECT /*+ id({name}) */{after}"


def ids(script: str) -> list[str]:
    return [operator.id for operator in program(script).operators]


def meaning(program: Program) -> list[tuple[object, ...]]:
    return [
        (operator.identity, operator.number, operator.rows, operator.columns, operator.below)
        for operator in program.operators
    ]


@pytest.mark.parametrize("script", ALL.values(), ids=ALL)
def test_a_hint_is_the_name_of_its_operator_and_no_part_of_the_query(script: str) -> None:
    plain, named = program(script), program(hinted(script))

    assert [operator.id for operator in named.operators] == ["visits"]
    assert meaning(named) == meaning(plain)
    assert named.fingerprint == plain.fingerprint
    assert named.parts == plain.parts


def test_each_select_names_what_it_keeps_itself() -> None:
    joined = "SELECT /*+ id(both) */ l.user FROM clicks l JOIN orders r ON l.user = r.user"

    assert ids(f"INSERT INTO changes SELECT /*+ id(groups) */ user, count(*) FROM ({joined}) GROUP BY 1") == [
        "groups",
        "both",
    ]
    assert ids(f"INSERT INTO changes WITH j AS ({joined}) SELECT user, count(*) FROM j GROUP BY 1")[1] == "both"


def test_name_hint_applies_to_the_operator_nearest_to_its_rows() -> None:
    groups = "SELECT /*+ id(visits) */ l.user, count(*) FROM clicks l JOIN orders r ON l.user = r.user GROUP BY 1"

    top, below = program(f"INSERT INTO changes {groups}").operators
    assert (top.id, top.kind, below.kind) == ("visits", "updating-aggregate", "updating-join")
    top, below = program(f"INSERT INTO changes {groups.replace('*/', '*/ DISTINCT')}").operators[:2]
    assert (top.id, below.kind) == ("visits", "updating-aggregate")
    assert below.id != "visits"


def test_a_view_that_is_read_twice_gives_its_operators_one_name_and_numbers() -> None:
    view = f"CREATE VIEW v AS {hinted(GROUP.removeprefix('INSERT INTO changes '))}"
    named = ids(
        f"{view} INSERT INTO changes SELECT user, c, s FROM v WHERE c > 3; INSERT INTO changes SELECT * FROM v;"
    )

    assert [name.partition("-")[0] for name in named] == ["visits", "visits"]
    assert len(set(named)) == 2


@pytest.mark.parametrize("place", [0, 1])
def test_equal_queries_share_the_name_that_one_of_them_has(place: int) -> None:
    queries = [TUMBLE, TUMBLE.replace("counts", "others")]
    queries[place] = hinted(queries[place])

    assert ids("".join(queries)) == ["visits"]


def test_an_operator_is_named_whatever_stands_around_its_hint() -> None:
    for spelled in ("/* a */ /*+ id(visits) */ -- b\n", "/*+\n  ID ( visits )\n*/", "--x\n/*+id(visits)*/"):
        assert ids(TUMBLE.replace("SELECT", f"SELECT {spelled}")) == ["visits"]


def test_a_comment_that_only_begins_with_a_plus_is_one_like_others() -> None:
    assert ids(f"/*+++ counts +++*/ {TUMBLE} /*+*/") == ids(TUMBLE)
    assert ids(TUMBLE.replace("user,", "/*+ the user */ user, '/*+ id(x) */' AS text,", 1).replace("1, 2", "1, 2, 3"))


def test_explain_shows_the_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.sql"
    script.write_text(
        "CREATE TABLE clicks (at TIMESTAMP NOT NULL, user TEXT, n BIGINT, WATERMARK FOR at) WITH (connector = "
        f"'single_file', path = '/clicks', format = 'json', type = 'source'); {hinted(COUNTS)}"
    )

    assert main(["explain", str(script)]) == 0
    assert "visits" in capsys.readouterr().out
    assert main(["explain", str(script), "--format", "json"]) == 0
    assert "visits" in json.dumps(json.loads(capsys.readouterr().out))


def test_operator_of_a_subquery_keeps_its_own_name() -> None:
    pairs = f"({COUNTS}) AS l JOIN ({hinted(COUNTS.replace('GROUP', 'WHERE n > 3 GROUP'))}) AS r ON l.user = r.user"

    assert ids(f"INSERT INTO others SELECT l.user, l.c FROM {pairs}") == [*ids(TUMBLE), "visits"]
    assert [
        operator.id for operator in program(hinted(JOIN, "a") + hinted(TUMBLE, "b") + hinted(HOP, "c")).operators
    ] == [
        "a",
        "b",
        "c",
    ]
