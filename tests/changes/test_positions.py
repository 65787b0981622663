"""Each place that reads a table goes on from where the rows are that its operator has counted, or its sinks have."""

from __future__ import annotations

import pytest

from engine.changes.compare import compare
from engine.compile import Program, compile_script

TABLES = "".join(
    f"CREATE TABLE {name} (at TIMESTAMP NOT NULL, k TEXT, n BIGINT, WATERMARK FOR at) WITH (connector = 'single_file',"
    f" path = '/{name}', format = 'json', type = 'source');"
    for name in ("t", "u")
) + "".join(
    f"CREATE TABLE {name} WITH (connector = 'single_file', path = '/{name}', format = '{form}', type = 'sink');"
    for name, form in (("a", "json"), ("b", "json"), ("c", "json"), ("d", "debezium_json"), ("e", "debezium_json"))
)
TUMBLE = "INSERT INTO a SELECT tumble('1 minute') AS w, count(*) AS n FROM t GROUP BY 1;"
SESSION = "INSERT INTO c SELECT session('1 minute') AS w, k FROM t GROUP BY 1, 2;"
PLAIN = "INSERT INTO b SELECT k FROM t;"
OTHER = "INSERT INTO c SELECT n FROM t WHERE n > 3;"
JOIN = "INSERT INTO d SELECT l.k, r.n FROM t l LEFT JOIN u r ON l.k = r.k;"
SELF = "INSERT INTO d SELECT l.k, r.n FROM t l LEFT JOIN t r ON l.k = r.k AND l.n < r.n;"
GROUPS = "INSERT INTO d SELECT k, n AS n FROM (SELECT k, count(*) AS n FROM t GROUP BY k);"
OTHER_GROUPS = GROUPS.replace("INTO d SELECT k, n", "INTO e SELECT k, {}")
OTHER_SELF = SELF.replace("INTO d SELECT l.k, r.n", "INTO e SELECT l.k, {}")


def program(script: str) -> Program:
    return compile_script(TABLES + script)


@pytest.mark.parametrize(
    ("before", "after", "numbers"),
    [
        (TUMBLE + PLAIN, TUMBLE + PLAIN, {0: 0, 1: 1}),
        (TUMBLE + PLAIN, PLAIN + TUMBLE, {0: 1, 1: 0}),
        (TUMBLE + PLAIN, SESSION + TUMBLE + PLAIN, {0: 0, 1: 0, 2: 1}),
        (TUMBLE + PLAIN, TUMBLE + PLAIN.replace("FROM t", "FROM t WHERE n > 1"), {0: 0, 1: 1}),
        (JOIN + PLAIN, PLAIN + JOIN, {0: 2, 1: 0, 2: 1}),
        (SELF + TUMBLE, TUMBLE + SELF, {0: 2, 1: 0, 2: 1}),
        # two sinks of one branch part, and go on from where both are
        (PLAIN + PLAIN.replace("b", "c"), PLAIN + OTHER, {0: 0, 1: 0}),
        # one sink has two branches: each is known by what it means
        (OTHER + OTHER.replace("n > 3", "n < 2"), OTHER.replace("n > 3", "n < 2") + OTHER, {0: 1, 1: 0}),
        # two sinks have one branch from now on, and may stand at different positions: nobody says which counts
        (PLAIN + OTHER, PLAIN + PLAIN.replace("b", "c"), {}),
        # two sinks of one operator part, and the copy goes on from where that has counted, not from the first place
        (PLAIN + GROUPS + OTHER_GROUPS.format("n"), PLAIN + GROUPS + OTHER_GROUPS.format("n + 1"), {0: 0, 1: 1, 2: 1}),
        (PLAIN + SELF + OTHER_SELF.format("r.n"), SELF + OTHER_SELF.format("r.n + 1"), {0: 1, 1: 2, 2: 1, 3: 2}),
        (PLAIN, PLAIN + OTHER.replace("FROM t", "FROM u"), {0: 0}),
    ],
)
def test_a_source_goes_on_from_the_place_that_it_was_at(before: str, after: str, numbers: dict[int, int]) -> None:
    assert compare(program(before), program(after)).sources == numbers


def test_a_table_that_is_read_from_the_start_has_no_predecessor() -> None:
    assert compare(program(JOIN), program(JOIN), reset=["t"]).sources == {1: 1}
