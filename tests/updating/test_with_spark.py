"""Updating operators inside Spark: epoch by epoch, the folded changes are the batch answer."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from engine.compile import compile_script
from engine.errors import SumOverflowError
from engine.plan.tree import hidden_in
from engine.spark.lower import stream_lowering
from engine.spark.lower.rows import quoted
from engine.spark.run.epoch import EpochPart
from engine.spark.run.lifecycle import RunSpec
from engine.spark.run.stream import EpochLimits, open_tables, scan_specs
from tests.streams.play import START, Row, Step, at, play, read_rows, write_script
from tests.updating.streams import fold

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLES = """
CREATE TABLE events (ts TIMESTAMP NOT NULL, key TEXT, number BIGINT, WATERMARK FOR ts)
WITH (connector = 'scripted', path = '{script}');
CREATE TABLE others (ts TIMESTAMP NOT NULL, key TEXT, size BIGINT, WATERMARK FOR ts)
WITH (connector = 'scripted', path = '{others}');
CREATE TABLE nowhere WITH (connector = 'blackhole');
"""
EPOCHS: Sequence[Sequence[tuple[str | None, int | None]]] = [
    [("a", 1), ("a", 2), ("b", 3), (None, 4), (None, None)],
    [("a", 1), ("c", 7)],
    [(None, 5), ("b", None), ("c", 7), ("d", 1)],
]


OTHERS: Sequence[Sequence[tuple[str | None, int | None]]] = [
    [("b", 1), ("z", 1), (None, 1)],
    [("a", 2), ("a", 4), ("c", 5)],
]


def tables(folder: Path) -> str:
    """The tables of a query, with their rows."""
    for name, column, epochs in (("script", "number", EPOCHS), ("others", "size", OTHERS)):
        steps = []
        for number, rows in enumerate(epochs):
            events: list[Row] = [{"ts": at(number), "key": key, column: value} for key, value in rows]
            steps.append(Step(timedelta(minutes=number), {"p": events}))
        write_script(folder / f"{name}.json", steps)
    return TABLES.format(script=folder / "script.json", others=folder / "others.json")


def batch_answer(query: str) -> Counter[tuple[object, ...]]:
    """What DuckDB makes of all rows."""
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        for name, column, epochs in (("events", "number", EPOCHS), ("others", "size", OTHERS)):
            rows = [(START + timedelta(minutes=n), *row) for n, epoch in enumerate(epochs) for row in epoch]
            database.execute(f"CREATE TABLE {name} (ts TIMESTAMPTZ, key TEXT, {column} BIGINT)")
            database.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", rows)
        return Counter(database.execute(query).fetchall())


def changes(spark: SparkSession, folder: Path, query: str, tasks: int = 1) -> list[list[Mapping[str, object]]]:
    """The changes of each epoch that has any."""
    program = compile_script(tables(folder) + f"INSERT INTO nowhere {query};")
    specs = scan_specs(program, EpochPart(program.parts, [], {}), folder / "notes", EpochLimits(tasks, None))
    opened = open_tables(spark, specs)
    frame = stream_lowering(opened, program.tables, program.udfs).lower(program.parts.branches[0])
    names = program.parts.branches[0].schema.names
    columns = [*names, *hidden_in(frame.columns, names)]
    epochs: list[list[Mapping[str, object]]] = []

    def take(rows: DataFrame, _: int) -> None:
        epochs.append([row.asDict() for row in rows.collect()])

    stream = frame.select(*map(quoted, columns)).writeStream.foreachBatch(take).outputMode("append")
    running = stream.option("checkpointLocation", str(folder / "checkpoint")).start()
    try:
        while not running.recentProgress or running.recentProgress[-1].numInputRows or not epochs:
            if not running.awaitTermination(0.1) and _is_over(running.lastProgress):
                break
    finally:
        running.stop()
    return [epoch for epoch in epochs if epoch]


def _is_over(progress: object) -> bool:
    ends = json.loads(progress.json)["sources"] if progress is not None else []  # type: ignore[attr-defined]
    offsets = [json.loads(end["endOffset"]) if isinstance(end["endOffset"], str) else end["endOffset"] for end in ends]
    return bool(offsets) and all(offset["end"] for offset in offsets)


QUERIES = {
    "aggregate": "SELECT key, count(*) AS n, sum(number) AS s, max(number) AS m FROM events GROUP BY key",
    "without keys": "SELECT count(number) AS n, min(key) AS k FROM events",
    "stacked": """
        SELECT n, count(*) AS keys, max(s) AS most FROM (
          SELECT key, count(*) AS n, sum(number) AS s FROM events GROUP BY key HAVING count(*) > 1
        ) GROUP BY n
    """,
    "full join": "SELECT e.key, o.key AS k, number, size FROM events e FULL JOIN others o ON e.key = o.key",
    "left join with a condition": """
        SELECT e.key, e.number, o.size FROM events e LEFT JOIN others o ON e.key = o.key AND e.number * 2 < o.size
    """,
    "inner join with a condition of text": """
        SELECT e.key, e.number, o.size FROM events e JOIN others o ON e.key = o.key AND upper(e.key || o.key) = 'AA'
    """,
    "join of aggregates": """
        SELECT e.key, n, most FROM (SELECT key, count(*) AS n FROM events GROUP BY key) e
        LEFT JOIN (SELECT key, max(size) AS most FROM others GROUP BY key) o ON e.key = o.key
    """,
    "aggregate of a join": """
        SELECT o.key, count(*) AS n, count(e.key) AS m, sum(e.number * o.size) AS s
        FROM others o LEFT JOIN events e ON e.key = o.key GROUP BY o.key
    """,
    "in": "SELECT key, number FROM events WHERE key IN (SELECT key FROM others)",
    "in rows of values": "SELECT key FROM events WHERE (key, number) IN (SELECT key, size + 2 FROM others)",
    "not in": "SELECT key, number FROM events WHERE key NOT IN (SELECT key FROM others WHERE size < 2 AND key > 'a')",
    "not in what has a NULL": "SELECT key, size FROM others WHERE key NOT IN (SELECT key FROM events WHERE number > 4)",
    "not in what is empty": "SELECT key FROM events WHERE number NOT IN (SELECT size FROM others WHERE size > 9)",
    "exists": """
        SELECT key, number FROM events e WHERE EXISTS (SELECT 1 FROM others o WHERE o.key = e.key AND o.size > e.number)
    """,
    "not exists": """
        SELECT key, number FROM events e WHERE number > 0 AND NOT EXISTS (
          SELECT 1 FROM (SELECT key, count(*) AS n FROM others GROUP BY key) o WHERE o.key = e.key AND o.n > 1
        )
    """,
    "best of each": """
        SELECT key, number FROM (
          SELECT *, row_number() OVER (PARTITION BY key ORDER BY number DESC NULLS LAST) AS place FROM events
        ) WHERE place <= 2
    """,
    "places of what changes": """
        SELECT key, n, rank() OVER (ORDER BY n DESC) AS r, dense_rank() OVER (PARTITION BY n > 1 ORDER BY n) AS d
        FROM (SELECT key, count(*) AS n FROM events GROUP BY key)
    """,
    "best rows": "SELECT DISTINCT ON (number) number, key FROM events ORDER BY number, key NULLS FIRST",
    "best groups": """
        SELECT key, count(*) AS n FROM events GROUP BY key ORDER BY n DESC, key NULLS LAST LIMIT 2 OFFSET 1
    """,
    "best of a join": """
        SELECT n, count(*) AS m FROM (
          SELECT e.key, number AS n, rank() OVER (PARTITION BY e.key ORDER BY size - number) AS place
          FROM events e LEFT JOIN others o ON e.key = o.key
        ) WHERE place = 1 GROUP BY n
    """,
    "one value for all": "SELECT key, number FROM events WHERE number >= (SELECT avg(size) FROM others)",
    "one value for each": """
        SELECT key, number, (SELECT count(*) FROM others o WHERE o.key = e.key) AS n,
          number + coalesce((SELECT max(size) FROM others o WHERE o.key = e.key AND size > 1), 0) AS m FROM events e
    """,
    "intersect": "SELECT key, number % 2 AS n FROM events INTERSECT SELECT key, size % 2 FROM others",
    "except": "SELECT key, number % 2 AS n FROM events EXCEPT SELECT key, size % 2 FROM others",
    "union": "SELECT key FROM events UNION SELECT key FROM others",
}


@pytest.mark.parametrize("name", QUERIES)
def test_the_folded_changes_are_the_batch_answer(spark: SparkSession, tmp_path: Path, name: str) -> None:
    epochs = changes(spark, tmp_path, QUERIES[name])

    rows = [change if "_retract" in change else {**change, "_retract": False} for epoch in epochs for change in epoch]
    assert fold(rows) == batch_answer(QUERIES[name])


def test_an_epoch_sends_only_what_it_changes(spark: SparkSession, tmp_path: Path) -> None:
    epochs = changes(spark, tmp_path, "SELECT key, count(*) AS n, sum(number) AS s FROM events GROUP BY key")

    assert [len(epoch) for epoch in epochs] == [3, 3, 7]


def test_windows_close_over_what_was_joined(spark: SparkSession, tmp_path: Path) -> None:
    output = tmp_path / "output.json"
    sql = f"""
      CREATE TABLE output (start TIMESTAMP, key TEXT, n BIGINT)
      WITH (connector = 'single_file', path = '{output}', format = 'json', type = 'sink');
      INSERT INTO output SELECT w.start, key, n FROM (
        SELECT tumble(INTERVAL '1 minute') AS w, e.key, count(*) AS n
        FROM events e JOIN others o ON e.key = o.key GROUP BY w, e.key
      );
    """

    outcome, _ = play(spark, RunSpec("events", tables(tmp_path) + sql, tmp_path / "state"))

    expected = """
        SELECT strftime(date_trunc('minute', greatest(e.ts, o.ts)), '%Y-%m-%dT%H:%M:%S') AS w, e.key, count(*)
        FROM events e JOIN others o ON e.key = o.key GROUP BY w, e.key
    """
    assert outcome == "finished"
    assert Counter((row["start"], row["key"], row["n"]) for row in read_rows(output)) == batch_answer(expected)


def test_a_run_with_nothing_but_updating_operators_ends_with_its_input(spark: SparkSession, tmp_path: Path) -> None:
    sql = tables(tmp_path) + "INSERT INTO nowhere SELECT key, count(*) FROM events GROUP BY key;"

    outcome, reports = play(spark, RunSpec("events", sql, tmp_path / "state"))

    assert outcome == "finished"
    assert [report.rows_in for report in reports if report.rows_in] == [len(rows) for rows in EPOCHS]
    assert reports[-1].is_last


def test_a_sum_out_of_range_stops_the_run_by_name(spark: SparkSession, tmp_path: Path) -> None:
    most = "CAST(9223372036854775807 AS BIGINT)"
    sql = tables(tmp_path) + f"INSERT INTO nowhere SELECT key, sum(number * 0 + {most}) AS s FROM events GROUP BY key;"

    with pytest.raises(SumOverflowError, match="out of the range of BIGINT"):
        play(spark, RunSpec("events", sql, tmp_path / "state"))
