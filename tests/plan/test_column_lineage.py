"""Where columns come from, for every kind of relation. That nothing else changes them is tried in `tests/fuzz`."""

from __future__ import annotations

import pytest

from engine.compile import compile_script
from engine.plan.column_lineage import Origins
from engine.udf.declared import UdfFile

TABLES = """
CREATE TABLE orders (
    id BIGINT, city TEXT, price DOUBLE, paid BOOLEAN, tags TEXT[], net DOUBLE GENERATED ALWAYS AS (price * 0.8),
    at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '5 seconds'
) WITH (connector = 'single_file', path = '/in/orders', format = 'json', type = 'source');
CREATE TABLE users (id BIGINT, name TEXT, seen TIMESTAMP NOT NULL, WATERMARK FOR seen) WITH (
    connector = 'single_file', path = '/in/users', format = 'json', type = 'source'
);
CREATE TABLE rates (id BIGINT PRIMARY KEY, city TEXT, rate DOUBLE) WITH (
    connector = 'single_file', path = '/in/rates', format = 'debezium_json', type = 'source'
);
CREATE TEMPORARY TABLE cities (name TEXT PRIMARY KEY, country TEXT) WITH (
    connector = 'filesystem', path = '/in/cities.json', format = 'json'
);
CREATE TABLE late (id BIGINT, late_at TIMESTAMP) WITH (
    connector = 'single_file', path = '/out/late', format = 'json', type = 'sink'
);
"""
FUNCTIONS = """
from engine.udf import udaf, udf

@udf
def twice(number: int) -> int:
    return number * 2

@udaf
def span(values: list[int]) -> int:
    return max(values) - min(values)
"""

CASES = {
    "a column as it is": ("SELECT id AS a FROM orders", "a: id", ""),
    "another name on the way": ("WITH x AS (SELECT id AS b FROM orders) SELECT b AS a FROM x", "a: id", ""),
    "a computed column": ("SELECT price * 2 AS a FROM orders", "a: TRANSFORMATION price", ""),
    "a constant": ("SELECT 1 AS a, id FROM orders", "a: ; id: id", ""),
    "a generated column": ("SELECT net FROM orders", "net: TRANSFORMATION price", ""),
    "a digest": ("SELECT md5(city) AS a FROM orders", "a: TRANSFORMATION city*", ""),
    "part of a digest": ("SELECT left(md5(city), 4) AS a FROM orders", "a: TRANSFORMATION city*", ""),
    "a condition": (
        "SELECT CASE WHEN paid THEN price ELSE 0 END AS a FROM orders",
        "a: CONDITIONAL paid, TRANSFORMATION price",
        "",
    ),
    "the first that is there": (
        "SELECT coalesce(city, upper(city)) AS a FROM orders",
        "a: CONDITIONAL city, TRANSFORMATION city",
        "",
    ),
    "NULL where equal": (
        "SELECT nullif(id, 4) AS a, nullif(1, id) AS b FROM orders",
        "a: TRANSFORMATION id; b: CONDITIONAL id",
        "",
    ),
    "one of two": (
        "SELECT nvl2(city, id, 0) AS a FROM orders",
        "a: CONDITIONAL city, TRANSFORMATION id",
        "",
    ),
    "a filter": ("SELECT id FROM orders WHERE paid AND price > 3", "id: id", "FILTER paid, FILTER price"),
    "a function of the user's": ("SELECT twice(id) AS a FROM orders", "a: TRANSFORMATION id", ""),
    "a window": (
        "SELECT tumble(INTERVAL '1 minute') AS w, upper(city) AS c, sum(price) AS s, count(*) AS n, "
        "count(DISTINCT id) AS d, span(id) AS p FROM orders GROUP BY 1, 2",
        "w: TRANSFORMATION at; c: TRANSFORMATION city; s: AGGREGATION price; n: ; d: AGGREGATION id*; "
        "p: AGGREGATION id",
        "GROUP_BY city, WINDOW at",
    ),
    "aggregates of some rows": (
        "SELECT sum(price) FILTER (WHERE paid) AS a, array_agg(id ORDER BY city) AS b "
        "FROM orders GROUP BY tumble(INTERVAL '1 minute')",
        "a: AGGREGATION price, CONDITIONAL paid; b: AGGREGATION id, SORT city",
        "WINDOW at",
    ),
    "HAVING": (
        "SELECT city FROM orders GROUP BY city, hop(INTERVAL '1 minute', INTERVAL '2 minutes') HAVING sum(price) > 1",
        "city: city",
        "FILTER price, GROUP_BY city, WINDOW at",
    ),
    "a group that changes": (
        "SELECT city, max(price) AS m FROM orders GROUP BY city",
        "city: city; m: AGGREGATION price",
        "GROUP_BY city",
    ),
    "a sum of sums": (
        "SELECT sum(s) AS t FROM (SELECT city, sum(price) AS s FROM orders GROUP BY city)",
        "t: AGGREGATION price",
        "GROUP_BY city",
    ),
    "distinct rows": ("SELECT DISTINCT city FROM orders", "city: city", "GROUP_BY city"),
    "changes of a table": ("SELECT id, rate FROM rates", "id: rates.id; rate: rates.rate", ""),
    "a join": (
        "SELECT o.price, u.name FROM orders o JOIN users u ON o.id = u.id AND o.price > u.id",
        "price: price; name: users.name",
        "JOIN id, JOIN price, JOIN users.id",
    ),
    "a join of windows": (
        "SELECT l.n, r.m FROM (SELECT tumble(INTERVAL '1 minute') AS w, count(*) AS n FROM orders GROUP BY 1) l "
        "JOIN (SELECT tumble(INTERVAL '1 minute') AS w, max(name) AS m FROM users GROUP BY 1) r ON l.w = r.w",
        "n: ; m: AGGREGATION users.name",
        "JOIN at, JOIN users.seen, WINDOW at, WINDOW users.seen",
    ),
    "rows that another table has": (
        "SELECT price FROM orders WHERE id IN (SELECT id FROM users)",
        "price: price",
        "JOIN id, JOIN users.id",
    ),
    "an inner lookup": (
        "SELECT o.id, c.country FROM orders o JOIN cities c ON c.name = o.city",
        "id: id; country: cities.country",
        "JOIN cities.name, JOIN city",
    ),
    "a left lookup": (
        "SELECT o.id, c.country FROM orders o LEFT JOIN cities c ON c.name = o.city",
        "id: id; country: JOIN cities.name, JOIN city, cities.country",
        "",
    ),
    "a union": (
        "SELECT id AS a FROM orders WHERE paid UNION ALL SELECT id FROM users",
        "a: id, users.id",
        "FILTER paid",
    ),
    "elements of an array": ("SELECT id, unnest(tags) AS t FROM orders", "id: id; t: TRANSFORMATION tags", "JOIN tags"),
    "functions over a window": (
        "SELECT n, sum(n) OVER (PARTITION BY w ORDER BY city) AS s, lag(city) OVER (PARTITION BY w ORDER BY n) AS l "
        "FROM (SELECT tumble(INTERVAL '1 minute') AS w, city, sum(price) AS n FROM orders GROUP BY 1, 2)",
        "n: AGGREGATION price; s: AGGREGATION price, WINDOW at, WINDOW city; "
        "l: TRANSFORMATION city, WINDOW at, WINDOW price",
        "GROUP_BY city, WINDOW at",
    ),
    "the best rows": (
        "SELECT id, price FROM (SELECT id, price, row_number() OVER (PARTITION BY city ORDER BY at) AS r FROM orders) "
        "WHERE r <= 3",
        "id: id; price: price",
        "SORT at, WINDOW city",
    ),
    "rows in an order": (
        "SELECT city, n FROM (SELECT tumble(INTERVAL '1 minute') AS w, city, count(*) AS n FROM orders GROUP BY 1, 2) "
        "ORDER BY n, city LIMIT 3",
        "city: city; n: ",
        "GROUP_BY city, SORT city, WINDOW at",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_columns_come_from(case: str) -> None:
    query, columns, rows = CASES[case]
    program = compile_script(f"{TABLES} {query}", udfs=[UdfFile("own.py", FUNCTIONS)])
    (lineage,) = program.column_lineage.values()

    assert "; ".join(f"{name}: {_text(origins)}" for name, origins in lineage.columns.items()) == columns
    assert _text(lineage.rows) == rows


def test_rows_of_several_inserts_come_from_all_of_them() -> None:
    sink = "CREATE TABLE out (a BIGINT, b DOUBLE) WITH (connector = 'blackhole', type = 'sink');"
    both = "INSERT INTO out SELECT id, price FROM orders WHERE paid; INSERT INTO out SELECT id, NULL FROM users;"
    lineage = compile_script(TABLES + sink + both).column_lineage["out"]

    assert _text(lineage.columns["a"]) == "id, users.id"
    assert _text(lineage.columns["b"]) == "price"
    assert _text(lineage.rows) == "FILTER paid"


def _text(origins: Origins) -> str:
    """Columns of orders without their table, those that are taken as they are without a word."""
    return ", ".join(
        sorted(
            f"{'' if origin.use == 'IDENTITY' else f'{origin.use} '}"
            f"{'' if origin.table == 'orders' else f'{origin.table}.'}{origin.column}{'*' * origin.is_masked}"
            for origin in origins
        )
    )
