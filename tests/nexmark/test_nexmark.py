"""Nexmark's queries over Nexmark's own source give the batch answer."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from engine.connectors.nexmark.events import EventMaker
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.spark.run.stop_control import Control
from tests.fusing import IS_FUSED
from tests.fuzz.oracle import Row, comparable, difference
from tests.nexmark.queries import SIDE, STATELESS, UPDATING, VIEWS, WINDOWED, Query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVENTS, SPACING = 1000, timedelta(milliseconds=50)
START = datetime(2024, 1, 1, 7, 59, 30, tzinfo=UTC)
TABLE = f"""
CREATE TABLE nexmark WITH (connector = 'nexmark', message_count = '{EVENTS}',
  start_time = '{START.isoformat()}', event_time_interval = INTERVAL '50 milliseconds');
"""


@pytest.fixture(scope="module")
def oracle() -> Iterator[duckdb.DuckDBPyConnection]:
    """The same events in a database."""
    database = duckdb.connect(":memory:")
    numbers = np.arange(EVENTS, dtype=np.int64)
    micros = int(START.timestamp()) * 1_000_000 + numbers * (SPACING // timedelta(microseconds=1))
    batch = EventMaker(("person", "auction", "bid"), 0, SPACING / timedelta(microseconds=1))(numbers, micros)
    database.execute("SET TimeZone = 'UTC'")
    database.register("events", pa.Table.from_batches([batch]))
    database.execute("CREATE TABLE nexmark AS SELECT * FROM events")
    instants = "datetime", "expires"
    for view in VIEWS.strip().split(";")[:-1]:
        database.execute(view)
    for name, columns in {"person": 1, "auction": 2, "bid": 1}.items():
        casts = ", ".join(f"{column}::TIMESTAMP AS {column}" for column in instants[:columns])
        database.execute(f"CREATE TABLE {name}s AS SELECT * REPLACE ({casts}) FROM {name}")
        database.execute(f"DROP VIEW {name}")
        database.execute(f"ALTER TABLE {name}s RENAME TO {name}")
    database.execute("CREATE TABLE side (key BIGINT, name TEXT)")
    database.executemany("INSERT INTO side VALUES (?, ?)", list(SIDE.items()))
    yield database
    database.close()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("queries", [STATELESS, WINDOWED, UPDATING], ids=["stateless", "windowed", "updating"])
def test_the_queries_give_the_batch_answer(
    spark: SparkSession, oracle: duckdb.DuckDBPyConnection, queries: Sequence[Query], tmp_path: Path
) -> None:
    spec = RunSpec(
        "nexmark",
        script(queries, tmp_path),
        tmp_path / "state",
        settings=replace(PLAIN_SETTINGS, max_epoch_rows=600, fuse=IS_FUSED),
    )

    assert run_in(spark, spec, Control()) == "finished"

    assert {query.name: wrong(query, oracle, tmp_path) for query in queries} == {query.name: "" for query in queries}


def script(queries: Sequence[Query], folder: Path) -> str:
    """One pipeline for all of them."""
    side = folder / "side.csv"
    side.write_text("key,name\n" + "".join(f"{key},{name}\n" for key, name in SIDE.items()))
    text = TABLE + VIEWS
    text += f"""CREATE TEMPORARY TABLE side (key BIGINT PRIMARY KEY, name TEXT)
      WITH (connector = 'filesystem', path = '{side}', format = 'csv');"""
    for query in queries:
        form = "debezium_json" if query.is_updating else "json"
        options = f"connector = 'single_file', path = '{folder / query.name}.json', format = '{form}', type = 'sink'"
        text += f"CREATE TABLE {query.name} WITH ({options});\nINSERT INTO {query.name} {query.engine_sql};\n"
    return text


def wrong(query: Query, oracle: duckdb.DuckDBPyConnection, folder: Path) -> str:
    """Return how the output of a query differs from the batch answer."""
    kinds = {str(number): kind for number, kind in enumerate(query.kinds.split())}
    expected = [comparable(row, kinds) for row in oracle.execute(query.oracle_sql or query.engine_sql).fetchall()]
    lines = [json.loads(line) for line in (folder / f"{query.name}.json").read_text().splitlines()]
    if not query.is_updating:
        assert expected, "a query that finds nothing shows nothing"
        return difference([comparable(line.values(), kinds) for line in lines], expected)
    table: Counter[Row] = Counter()
    for line in lines:
        for name, sign in (("before", -1), ("after", 1)):
            if line[name] is not None:
                table[comparable(line[name].values(), kinds)] += sign
    assert min(table.values()) >= 0, "a row is taken back that is not there"
    return difference(list(table.elements()), expected)
