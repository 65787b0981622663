"""What keeps rows that change does not go on where it would be told that rows are gone which it has never had."""

from __future__ import annotations

import pytest

from engine.changes.compare import compare
from engine.changes.verdict import Change
from tests.changes.test_compare import FUNCTIONS, changes, program, reason

TABLE = """CREATE TABLE dbz (id BIGINT PRIMARY KEY, g TEXT, x BIGINT)
WITH (connector = 'kafka', bootstrap_servers = 'k:9092', topic = 'dbz', format = 'debezium_json', type = 'source');
"""
SHAPES = {
    "aggregate": "SELECT g, count(*) AS c, sum(x) AS s FROM (SELECT * FROM dbz {}) GROUP BY g",
    "join": "SELECT a.g, a.x, o.price FROM (SELECT * FROM dbz {}) a JOIN orders o ON a.g = o.user",
    "ranking": (
        "SELECT g, x FROM (SELECT g, x, row_number() OVER (PARTITION BY g ORDER BY x) AS p FROM dbz {}) WHERE p <= 2"
    ),
    "aggregate of an aggregate": (
        "SELECT x, count(*) AS n FROM (SELECT user, count(*) AS x FROM clicks GROUP BY user) {} GROUP BY x"
    ),
}
OTHERS = {"gone": ("WHERE x > 3", ""), "another one": ("WHERE x > 3", "WHERE x > 5")}


def script(shape: str, condition: str) -> str:
    return f"{TABLE}INSERT INTO changes {SHAPES[shape].format(condition)};"


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("old", "new"), OTHERS.values(), ids=OTHERS)
def test_rows_that_come_through_from_now_on_would_be_taken_back_before_they_ever_came(
    shape: str, old: str, new: str
) -> None:
    before, after = program(script(shape, old)), program(script(shape, new))
    names = [operator.id for operator in before.operators]
    plans = compare(before, after), compare(before, after, keep_state=names)

    for refused in plans:
        assert Change.REFUSED in changes(refused)
        assert "rows that change would be taken back from it which it has never had" in reason(refused)
        assert f"--keep-state {names[0]}" not in reason(refused)


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_that_do_not_come_through_any_more_were_all_there(shape: str) -> None:
    before, after = program(script(shape, "")), program(script(shape, "WHERE x > 3"))
    names = [operator.id for operator in before.operators]

    assert f"--keep-state {names[0]}" in reason(compare(before, after))
    assert {*changes(compare(before, after, keep_state=names))} == {Change.STATE_KEPT}


def test_other_code_would_take_back_other_values_than_came() -> None:
    halved = script("aggregate", "").replace("SELECT * FROM dbz", "SELECT g, half(x) AS x FROM dbz")
    before, after = program(halved), program(halved, FUNCTIONS.replace("x // 2", "x // 3"))
    names = [operator.id for operator in before.operators]

    assert changes(compare(before, after, keep_state=names)) == [Change.REFUSED]


def test_operators_above_accepted_changelog_rows_retract_their_previous_rows() -> None:
    """The operator below gives out and takes back the results that it has, whatever rows these are of."""
    before = program(script("aggregate of an aggregate", ""))
    after = program(script("aggregate of an aggregate", "").replace("FROM clicks", "FROM clicks WHERE n > 3"))
    names = [operator.id for operator in before.operators]

    assert {*changes(compare(before, after, keep_state=names))} == {Change.STATE_KEPT}
