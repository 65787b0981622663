"""Queries whose rows change, from SQL to files, over several epochs: their changes come to the batch answer."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.spark.run.stop_control import Control
from tests.corpus.case import INPUTS
from tests.spark.test_changes import final_orders

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = """
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source');
CREATE TABLE orders (id INT PRIMARY KEY, customer TEXT, amount BIGINT, paid BOOLEAN NOT NULL)
WITH (connector = 'single_file', path = '$inputs/orders.jsonl', format = 'debezium_json', type = 'source');
CREATE VIEW per_key AS SELECT key, count(*) AS n, sum(value) AS total FROM events GROUP BY key;
"""

QUERIES = {
    "grouped": "SELECT key, count(*) AS n, min(value) FILTER (WHERE active) AS low FROM events GROUP BY key",
    "whole": "SELECT count(*) AS n, max(value) AS high FROM events WHERE active",
    "having": "SELECT key, max(value) AS high FROM events GROUP BY key HAVING count(*) = 1",
    "deep": "SELECT max(keys) AS most FROM (SELECT n, count(*) AS keys FROM per_key GROUP BY n)",
    "distinct": "SELECT DISTINCT key, value > 2 AS large FROM events",
    "distinct_sums": "SELECT DISTINCT n FROM per_key",
    "union": "SELECT key FROM events UNION SELECT customer FROM orders UNION SELECT 'a' FROM events",
    "union_all": "SELECT key, n FROM per_key UNION ALL SELECT customer, amount FROM orders "
    "UNION ALL SELECT key, value FROM events",
    "of_changes": "SELECT customer, count(*) AS n, sum(amount) AS total, max(id) AS last FROM orders GROUP BY customer",
    "groups_compared": "SELECT key, count(*) AS n FROM events GROUP BY key "
    "HAVING count(*) > (SELECT count(*) - 10 FROM orders WHERE paid) AND sum(value) < (SELECT sum(amount) FROM orders)",
    "groups_with_values": "SELECT e.key, (SELECT max(id) + count(*) FROM orders WHERE customer = e.key) AS most "
    "FROM events AS e GROUP BY key HAVING (SELECT count(*) FROM orders AS o WHERE o.customer = e.key) < 3",
    "whole_compared": "SELECT count(*) AS n FROM events HAVING count(*) > (SELECT min(id) FROM orders)",
    "lateral": "SELECT e.key, value, g.* FROM events AS e JOIN LATERAL "
    "(SELECT id, amount - e.value AS more FROM orders WHERE customer = key AND amount > e.value) AS g ON true",
    "lateral_left": "SELECT e.key, value, low, more, one FROM events AS e LEFT JOIN LATERAL (SELECT id - 100 AS low, "
    "coalesce(amount - e.value, -1) AS more, 1 AS one FROM orders WHERE customer = key AND paid) ON true",
    "lateral_on": "SELECT e.key, value, high FROM events AS e LEFT JOIN LATERAL "
    "(SELECT customer, amount AS high FROM orders WHERE amount > e.value) AS g ON g.customer = e.key",
    "lateral_of_nothing": "SELECT e.key, value, g.* FROM events AS e "
    "CROSS JOIN LATERAL (SELECT count(*) AS n, sum(amount) + e.value AS total FROM orders WHERE customer = e.key) AS g",
    "lateral_groups": "SELECT e.key, value, g.* FROM events AS e LEFT JOIN LATERAL "
    "(SELECT paid, count(*) AS n FROM orders AS o WHERE upper(o.customer) = upper(e.key) AND id > 0 "
    "GROUP BY paid HAVING sum(amount) > 0) AS g ON true",
    "lateral_distinct": "SELECT e.key, value, p FROM events AS e, "
    "LATERAL (SELECT DISTINCT paid FROM orders WHERE customer = e.key) AS g(p)",
    "lateral_of_rows": "SELECT o.customer, g.n, h.more FROM orders AS o, "
    "LATERAL (SELECT n FROM per_key WHERE key = customer) AS g "
    "LEFT JOIN LATERAL (SELECT g.n + amount AS more WHERE o.paid) AS h ON true",
}


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the changes of every query, in epochs of five records."""
    folder = tmp_path_factory.mktemp("updating")
    sinks = [
        f"CREATE TABLE to_{name} WITH (connector = 'single_file', path = '{folder}/{name}.json', "
        f"format = 'debezium_json', type = 'sink');\nINSERT INTO to_{name} {query};"
        for name, query in QUERIES.items()
    ]
    sql = TABLES.replace("$inputs", str(INPUTS)) + "\n".join(sinks)
    assert (
        run_in(
            spark,
            RunSpec("updating", sql, folder / "state", settings=replace(PLAIN_SETTINGS, max_epoch_rows=5)),
            Control(),
        )
        == "finished"
    )
    return folder


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """The same tables as they are in the end."""
    place = tmp_path_factory.mktemp("batch") / "orders.jsonl"
    place.write_text("".join(json.dumps(row) + "\n" for row in final_orders().values()))
    database = duckdb.connect()
    events = "{'at': 'TIMESTAMP', key: 'TEXT', value: 'BIGINT', active: 'BOOLEAN'}"
    database.execute(f"CREATE TABLE events AS FROM read_json('{INPUTS / 'events.jsonl'}', columns = {events})")
    orders = "{id: 'INT', customer: 'TEXT', amount: 'BIGINT', paid: 'BOOLEAN'}"
    database.execute(f"CREATE TABLE orders AS FROM read_json('{place}', columns = {orders})")
    database.execute(TABLES[TABLES.index("CREATE VIEW") :])
    return database


@pytest.mark.parametrize("name", QUERIES)
def test_the_changes_of_a_query_come_to_the_batch_answer(
    written: Path, batch: duckdb.DuckDBPyConnection, name: str
) -> None:
    answer = batch.execute(QUERIES[name])
    columns = [column[0] for column in answer.description]
    expected = Counter(json.dumps(dict(zip(columns, row, strict=True))) for row in answer.fetchall())

    assert folded(written / f"{name}.json") == expected


def folded(path: Path) -> Counter[str]:
    """The rows that the changes come to; equal ones are as many rows."""
    rows: Counter[str] = Counter()
    for line in path.read_text().splitlines():
        change = json.loads(line)
        if change["before"] is not None:
            before = json.dumps(change["before"])
            assert rows[before] > 0, f"there is no such row: {line}"
            rows[before] -= 1
        if change["after"] is not None:
            assert change["after"] != change["before"]
            rows[json.dumps(change["after"])] += 1
    return +rows
