"""Queries whose rows change, from SQL to files, over several epochs: their changes come to the batch answer."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from engine.spark.run import Control, RunSpec, run_in
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
    assert run_in(spark, RunSpec("updating", sql, folder / "state", max_epoch_rows=5), Control()) == "finished"
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
