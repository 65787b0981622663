"""Operators that keep state are known by what they mean, and by nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.cli.main import main
from engine.compile import compile_script
from engine.plan.explain import explain, explain_state
from engine.plan.state.operators import Operator
from engine.udf.declared import UdfFile

TABLES = """
CREATE TABLE clicks (at TIMESTAMP NOT NULL, user TEXT, page TEXT, n BIGINT, tags TEXT[], WATERMARK FOR at)
WITH (connector = 'single_file', path = '/clicks', format = 'json', type = 'source');
CREATE TABLE orders (at TIMESTAMP NOT NULL, user TEXT, price BIGINT, WATERMARK FOR at)
WITH (connector = 'single_file', path = '/orders', format = 'json', type = 'source');
CREATE TABLE changes (k TEXT, n BIGINT)
WITH (connector = 'single_file', path = '/out', format = 'debezium_json', type = 'sink');
"""
WINDOW = "SELECT tumble('1 minute') AS w, user, count(*) AS c, sum(n) AS s FROM clicks WHERE page = '/' GROUP BY 1, 2"
JOIN = "INSERT INTO changes SELECT clicks.user, price FROM clicks JOIN orders ON clicks.user = orders.user"
TOP = """INSERT INTO changes SELECT user, n FROM (
  SELECT user, n, row_number() OVER (PARTITION BY user ORDER BY n DESC) AS place FROM clicks) WHERE place <= 3"""
COUNT = "INSERT INTO changes SELECT user, count(*) FROM clicks GROUP BY user"


def operators(query: str, functions: str = "") -> tuple[Operator, ...]:
    udfs = (UdfFile("functions.py", functions),) if functions else ()
    return compile_script(TABLES + query, udfs=udfs).operators


def all_of(query: str) -> list[tuple[object, ...]]:
    return [
        (operator.id, operator.rows, [column.meaning for column in operator.columns]) for operator in operators(query)
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (WINDOW, WINDOW.replace("SELECT tumble", "SELECT -- by the minute\n  tumble")),
        (WINDOW, WINDOW.replace("page = '/'", "clicks.page = '/'")),
        (WINDOW, f"SELECT w, s * 2 AS twice, c FROM ({WINDOW}) WHERE c > 3"),
        (WINDOW, f"WITH seen AS (SELECT user AS a, n AS b, page AS p FROM clicks) {WINDOW}".replace(
            "FROM clicks WHERE page", "FROM seen WHERE p").replace("2, user", "2, a").replace("w, user", "w, a")
            .replace("sum(n)", "sum(b)").replace("FROM (SELECT", "FROM (SELECT")),
        (
            WINDOW.replace("page = '/'", "page = '/' AND n > 3"),
            WINDOW.replace("FROM clicks WHERE page = '/'", "FROM (SELECT * FROM clicks WHERE n > 3) WHERE page = '/'"),
        ),
        (JOIN, JOIN.replace("price", "price * 2")),
        (COUNT, COUNT.replace("clicks GROUP", "(SELECT page, user FROM clicks) GROUP")),
        (TOP, TOP.replace("AS place", "AS rank").replace("place <=", "rank <=")),
        (
            "SELECT count(*) FROM (SELECT user FROM clicks UNION ALL SELECT user FROM orders) GROUP BY tumble('1 day')",
            "SELECT count(*) FROM (SELECT user FROM orders UNION ALL SELECT user FROM clicks) GROUP BY tumble('1 day')",
        ),
    ],
)  # fmt: skip
def test_spelling_aliases_and_what_stands_above_change_nothing(before: str, after: str) -> None:
    assert all_of(before) == all_of(after)
    assert all_of(before)


names = st.from_regex(r"[a-z]{1,8}_", fullmatch=True)


@settings(deadline=None, max_examples=25)
@given(st.lists(names, min_size=5, max_size=5, unique=True))
def test_no_alias_is_part_of_what_an_operator_means(aliases: list[str]) -> None:
    view, key, value, window, count = aliases
    renamed = (
        f"WITH {view} AS (SELECT user AS {key}, n AS {value}, page FROM clicks) SELECT tumble('1 minute') AS {window},"
        f" {key}, count(*) AS {count}, sum({value}) FROM {view} WHERE page = '/' GROUP BY 1, 2"
    )

    assert all_of(renamed) == all_of(WINDOW)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (WINDOW, WINDOW.replace("1 minute", "2 minutes")),
        (WINDOW, WINDOW.replace("tumble('1 minute')", "hop('30 seconds', '1 minute')")),
        (WINDOW, WINDOW.replace("w, user,", "w, page,")),
        (JOIN, JOIN.replace("JOIN orders", "LEFT JOIN orders")),
        (JOIN, JOIN + " AND clicks.n < orders.price"),
        (COUNT, COUNT.replace("GROUP BY user", "GROUP BY user, page")),
        (COUNT, COUNT.replace("clicks", "orders")),
        (TOP, TOP.replace("PARTITION BY user", "PARTITION BY page")),
    ],
)
def test_window_key_and_source_are_what_it_is(before: str, after: str) -> None:
    assert {operator.identity for operator in operators(before)}.isdisjoint(
        operator.identity for operator in operators(after)
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (WINDOW, WINDOW.replace("page = '/'", "page = '/a'")),
        (WINDOW, WINDOW.replace(" WHERE page = '/'", "")),
        (WINDOW, WINDOW.replace("FROM clicks", "FROM (SELECT *, unnest(tags) AS tag FROM clicks)")),
        (JOIN, JOIN.replace("FROM clicks", "FROM (SELECT * FROM clicks WHERE n > 3) clicks")),
    ],
)
def test_input_rows_of_an_operator_are_described_separately(before: str, after: str) -> None:
    (old,), (new,) = operators(before), operators(after)

    assert old.id == new.id
    assert old.rows != new.rows
    assert [part.meaning for part in old.conditions] != [part.meaning for part in new.conditions]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (WINDOW, WINDOW.replace("sum(n)", "max(n)")),
        (WINDOW, WINDOW.replace("count(*) AS c, sum(n) AS s", "sum(n) AS s, count(*) AS c")),
        (WINDOW, WINDOW.replace("count(*)", "count(*) FILTER (WHERE n > 1)")),
        (COUNT, COUNT.replace("count(*)", "max(n)")),
        (COUNT, COUNT.replace("count(*)", "count(DISTINCT page)")),
        (JOIN, JOIN.replace("price", "price + n")),
        (TOP, TOP.replace("n DESC", "n")),
        (TOP, TOP.replace("<= 3", "<= 4")),
        (TOP, TOP.replace("row_number", "rank")),
    ],
)
def test_state_of_an_operator_is_described_by_column(before: str, after: str) -> None:
    (old,), (new,) = operators(before), operators(after)

    assert (old.id, old.rows) == (new.id, new.rows)
    assert [column.meaning for column in old.columns] != [column.meaning for column in new.columns]


SUMS = "SELECT tumble('1 minute') AS w, user, sum(n) AS a, sum(n + 1) AS b FROM clicks GROUP BY 1, 2"


@pytest.mark.parametrize(
    ("before", "after", "is_same"),
    [
        (SUMS, f"SELECT b, a FROM ({SUMS})", False),
        (SUMS, f"SELECT a FROM ({SUMS})", False),
        (f"SELECT a FROM ({SUMS})", f"SELECT b FROM ({SUMS})", False),
        (f"SELECT b, a FROM ({SUMS})", f"SELECT a, b FROM (SELECT b, a FROM ({SUMS}))", False),
        (SUMS, f"SELECT a FROM ({SUMS}) WHERE user <> ''", False),
        (SUMS, f"SELECT a + 1, user, 7, b * a FROM ({SUMS})", True),
        (SUMS, f"SELECT b, a FROM ({SUMS}) WHERE user <> ''", True),
        (SUMS, f"SELECT a FROM ({SUMS}) WHERE b > 3", True),
    ],
)
def test_reader_of_a_window_describes_the_order_of_its_state(before: str, after: str, is_same: bool) -> None:
    (old,), (new,) = operators(before), operators(after)

    assert (old.id, old.rows) == (new.id, new.rows)
    assert ([part.meaning for part in old.columns] == [part.meaning for part in new.columns]) == is_same


def test_keys_in_another_order_are_the_same_keys_kept_otherwise() -> None:
    before, after = (f"INSERT INTO changes SELECT user, count(*) FROM clicks GROUP BY {keys}"
                     for keys in ("user, page", "page, user"))  # fmt: skip
    (old,), (new,) = operators(before), operators(after)

    assert old.id == new.id
    assert old.columns == new.columns[1::-1] + new.columns[2:]


def test_names_with_signs_in_them_are_not_taken_for_others() -> None:
    table = (
        'CREATE TABLE odd (a TEXT, b TEXT, "a, odd.b" TEXT) '
        "WITH (connector = 'single_file', path = '/odd', format = 'json', type = 'source');"
    )
    (both,), (odd,) = (
        operators(
            f"{table} INSERT INTO changes SELECT k, count(*) FROM (SELECT concat({those}) AS k FROM odd) GROUP BY k"
        )
        for those in ("a, b", '"a, odd.b"')
    )

    assert both.id != odd.id


def test_the_time_to_live_is_no_part_of_it() -> None:
    assert all_of(COUNT) == all_of(f"SET updating_ttl = '2 hours'; {COUNT}")


def test_operator_above_other_rows_has_other_rows() -> None:
    query = (
        "SELECT tumble('1 minute') AS w, count(*) FROM clicks JOIN orders ON clicks.user = orders.user {} GROUP BY 1"
    )
    (window, join), (other_window, other_join) = operators(query.format("")), operators(query.format("WHERE price > 1"))

    assert (window.kind, join.kind) == ("tumble", "updating-join")
    assert window.id == other_window.id
    assert join.rows != other_join.rows
    assert window.rows != other_window.rows


def test_operators_of_one_id_are_told_apart_by_their_rows_and_then_counted() -> None:
    branch = "INSERT INTO {0} SELECT tumble('1 minute') AS w, count(*) FROM clicks {1} GROUP BY 1;"
    sinks = "".join(
        f"CREATE TABLE {name} WITH (connector = 'single_file', path = '/{name}', format = 'json', type = 'sink');"
        for name in ("a", "b")
    )
    first, second = operators(sinks + branch.format("a", "") + branch.format("b", "WHERE n > 1"))
    swapped = operators(sinks + branch.format("b", "WHERE n > 1") + branch.format("a", ""))

    assert first.identity == second.identity
    assert {first.id, second.id} == {f"tumble-{first.identity[:8]}-{operator.rows[:4]}" for operator in (first, second)}
    assert {(operator.id, operator.rows) for operator in swapped} == {(first.id, first.rows), (second.id, second.rows)}


FUNCTION = """
from engine.udf import udf, udaf
@udf
def half(x: int) -> int: return x // {}
@udaf
def middle(values: list[int]) -> int: return sorted(values)[len(values) // {}]
"""


@pytest.mark.parametrize(
    "query", [COUNT.replace("FROM clicks", "FROM clicks WHERE half(n) > 1"), COUNT.replace("count(*)", "sum(half(n))")]
)
def test_the_code_of_functions_below_it_is_part_of_its_rows(query: str) -> None:
    old, new = (operators(query, FUNCTION.format(two, 2))[0] for two in (2, 3))

    assert (old.id, old.conditions, old.columns) == (new.id, new.conditions, new.columns)
    assert old.rows != new.rows
    assert old.functions != new.functions


def test_the_code_of_an_aggregate_is_part_of_its_column() -> None:
    old, new = (operators(COUNT.replace("count(*)", "middle(n)"), FUNCTION.format(2, two))[0] for two in (2, 3))

    assert (old.id, old.rows) == (new.id, new.rows)
    assert old.columns != new.columns


def test_explain_shows_the_ids() -> None:
    program = compile_script(TABLES + WINDOW)
    ids = [operator.id for operator in program.operators]
    graph = json.loads(explain(program.parts, "json", ids=ids))

    assert f"keeps state until the window closes [{ids[0]}]\n" in explain(program.parts, ids=ids)
    assert f"branch 0, WindowAggregate [{ids[0]}]: a row" in explain_state(program.parts, ids)
    assert [node["operator_id"] for node in graph["nodes"] if node["state"]] == ids
    assert {node["operator_id"] for node in graph["nodes"] if not node["state"]} == {None}


def test_the_command_shows_them_where_tasks_of_the_source_do_the_most(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "query.sql").write_text(TABLES + WINDOW)
    (operator,) = operators(WINDOW)

    assert main(["explain", str(tmp_path / "query.sql"), "--fuse=on"]) == 0
    assert capsys.readouterr().out.count(f"[{operator.id}]") == 2
