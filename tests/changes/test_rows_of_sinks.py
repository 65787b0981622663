"""Whatever makes the rows of a sink other ones is told of the sink, also where its state goes on."""

from __future__ import annotations

import pytest

from engine.changes.compare import compare
from engine.changes.verdict import Change
from tests.changes.test_compare import FUNCTIONS, changes, program, reason

COUNTS = "SELECT tumble('1 minute') AS w, user, count(*) AS c FROM clicks GROUP BY 1, 2"
OTHERS = COUNTS.replace("clicks", "orders")
RANKED = "SELECT *, row_number() OVER (PARTITION BY w ORDER BY c) AS r"
CODE = {
    "the order of a ranking": f"SELECT w, row_number() OVER (PARTITION BY w ORDER BY half(c)) AS r FROM ({COUNTS})",
    "its partition": f"SELECT w, row_number() OVER (PARTITION BY w, half(c) ORDER BY c) AS r FROM ({COUNTS})",
    "a limit": f"SELECT w, user, c FROM ({COUNTS}) ORDER BY half(c) LIMIT 2",
    "an equation of a join": f"SELECT a.w FROM ({COUNTS}) a JOIN ({OTHERS}) b ON a.w = b.w AND half(a.c) = b.c",
    "a condition of a join": (
        f"SELECT a.w FROM ({COUNTS}) a JOIN ({OTHERS}) b ON a.w = b.w AND a.user = b.user AND half(a.c) > b.c"
    ),
}
ORDER = {
    "ranks": (
        f"SELECT * FROM ({RANKED} FROM ({COUNTS}) WHERE user <> 'a') WHERE r <= 2",
        f"SELECT * FROM ({RANKED} FROM ({COUNTS})) WHERE r <= 2 AND user <> 'a'",
    ),
    "limits": (
        f"SELECT * FROM ({COUNTS}) WHERE user <> 'a' ORDER BY c LIMIT 2",
        f"SELECT * FROM (SELECT * FROM ({COUNTS}) ORDER BY c LIMIT 2) WHERE user <> 'a'",
    ),
}


@pytest.mark.parametrize("query", CODE.values(), ids=CODE)
def test_other_code_of_a_function_makes_other_rows_wherever_it_is_called(query: str) -> None:
    script = f"INSERT INTO counts {query};"
    upgrade = compare(program(script), program(script, FUNCTIONS.replace("x // 2", "x // 3")))

    assert {*changes(upgrade)} == {Change.STATE_KEPT}
    assert changes(upgrade, "sink") == [Change.RESTART]
    assert "its rows are computed otherwise" in reason(upgrade, "sink")


@pytest.mark.parametrize(("inside", "outside"), ORDER.values(), ids=ORDER)
def test_a_condition_in_front_of_what_looks_at_all_rows_is_another_one_than_behind_it(
    inside: str, outside: str
) -> None:
    before, after = (program(f"INSERT INTO counts {query};") for query in (inside, outside))

    assert changes(compare(before, after), "sink") == [Change.RESTART]
    assert changes(compare(before, before), "sink") == [Change.SAME]


@pytest.mark.parametrize(("old", "new"), [("at DESC", "at ASC"), ("row_number", "rank")])
def test_a_ranking_that_begins_anew_with_another_order_gives_other_rows(old: str, new: str) -> None:
    query = "SELECT user, n, row_number() OVER (PARTITION BY user ORDER BY at DESC) AS place FROM clicks"
    script = f"INSERT INTO changes SELECT user, n FROM ({query}) WHERE place <= 2;"
    before, after = program(script), program(script.replace(old, new))
    (operator,) = (operator.id for operator in before.operators)

    upgrade = compare(before, after, reset=[operator])

    assert changes(upgrade) == [Change.STATE_DROPPED]
    assert changes(upgrade, "sink") == [Change.RESTART]
