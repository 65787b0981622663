"""Joins of windows, OVER, DISTINCT and the best of each window: the same SQL, over all rows at once, in DuckDB.

The rows are random but for their seed. NULLs, equal values and keys of one side only are common.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from engine.checkpoints.rescale import repartition
from engine.spark.run.lifecycle import RunSpec
from engine.spark.run.run_spec import PLAIN_SETTINGS
from tests.streams.play import play, wider

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = datetime(2024, 1, 1, tzinfo=UTC)
EPOCH_ROWS = 100

OURS = """
CREATE VIEW e AS SELECT tumble('2 minutes') AS w, key, count(*) AS n, max(value) AS v FROM events GROUP BY w, key;
CREATE VIEW c AS SELECT tumble('2 minutes') AS w, key, count(*) AS n, sum(value) AS v FROM clicks GROUP BY w, key;
CREATE VIEW h AS SELECT hop('50 seconds', '2 minutes') AS w, key, count(*) AS n, sum(value) AS v
  FROM events GROUP BY w, key;
CREATE VIEW d AS SELECT tumble('2 minutes') AS w, count(DISTINCT key) AS keys, count(DISTINCT value) AS vals,
  sum(DISTINCT value) AS s, avg(value) AS mean, count(*) FILTER (WHERE value > 2) AS big FROM events GROUP BY w;
"""
ORACLE_FUNCTIONS = """
CREATE VIEW e AS SELECT {'start': time_bucket(INTERVAL 2 minutes, ts)} AS w, key, count(*) AS n, max(value) AS v
  FROM events GROUP BY w, key;
CREATE VIEW c AS SELECT {'start': time_bucket(INTERVAL 2 minutes, ts)} AS w, key, count(*) AS n, sum(value) AS v
  FROM clicks GROUP BY w, key;
CREATE VIEW h AS SELECT {'start': s} AS w, key, count(*) AS n, sum(value) AS v FROM events, (
  SELECT to_timestamp(50 * unnest(range(34080000, 34082000)))::TIMESTAMP AS s
) WHERE ts >= s AND ts < s + INTERVAL 2 minutes GROUP BY s, key;
CREATE VIEW d AS SELECT {'start': time_bucket(INTERVAL 2 minutes, ts)} AS w, count(DISTINCT key) AS keys,
  count(DISTINCT value) AS vals, sum(DISTINCT value) AS s, avg(value) AS mean, count(*) FILTER (WHERE value > 2) AS big
  FROM events GROUP BY w;
"""
QUERIES = {
    "inner": """SELECT e.w.start AS s, e.key AS k, e.n AS a, c.n AS b FROM e JOIN c ON e.w = c.w AND e.key = c.key""",
    "left_more": """SELECT e.w.start AS s, e.key AS k, c.key AS o, c.n AS b
      FROM e LEFT JOIN c ON e.w = c.w AND e.n < c.n""",
    "right": """SELECT c.w.start AS s, e.key AS k, c.key AS o, e.v AS b
      FROM e RIGHT JOIN c ON e.w = c.w AND e.key = c.key""",
    "filtered": """SELECT e.w.start AS s, e.key AS k, c.n AS b
      FROM e LEFT JOIN c ON e.w = c.w AND e.key = c.key AND c.n > 1 AND e.n < 5 WHERE e.n > 1 AND c.key IS NULL""",
    "whole": """SELECT w.start AS s, key AS k, e.n AS a, c.n AS b, e.w.start AS t FROM e FULL JOIN c USING (w, key)""",
    "again": """SELECT w.start AS s, sum(a) AS a, count(b) AS b FROM (
      SELECT w, e.n AS a, c.v AS b FROM e LEFT JOIN c USING (w, key)) GROUP BY w""",
    "three": """SELECT e.w.start AS s, e.key AS k, d.keys AS a, c.n AS b
      FROM e JOIN d ON e.w = d.w LEFT JOIN c ON c.w = e.w AND c.key = e.key""",
    "different": """SELECT w.start AS s, keys AS a, vals AS b, s AS c, mean AS m, big AS g FROM d""",
    "ranked": """SELECT w.start AS s, key AS k, n AS a, rank() OVER (PARTITION BY w ORDER BY n DESC) AS r,
      dense_rank() OVER (PARTITION BY w ORDER BY v) AS d, percent_rank() OVER (PARTITION BY w ORDER BY v DESC) AS p,
      cume_dist() OVER (PARTITION BY w ORDER BY n) AS q, ntile(3) OVER (PARTITION BY w ORDER BY key) AS t FROM e""",
    "framed": """SELECT w.start AS s, key AS k, lag(v) OVER (PARTITION BY w ORDER BY key) AS l,
      lead(v, 2, 0) OVER (PARTITION BY w ORDER BY key DESC) AS m,
      first_value(v) OVER (PARTITION BY w ORDER BY key) AS f,
      sum(n) OVER (PARTITION BY w ORDER BY n) AS t, nth_value(v, 2) OVER (PARTITION BY w ORDER BY key) AS o,
      avg(v) OVER (PARTITION BY w, n > 2 ORDER BY key ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING) AS u,
      max(v) OVER (PARTITION BY w ORDER BY key ROWS BETWEEN 2 FOLLOWING AND UNBOUNDED FOLLOWING) AS x FROM h""",
    "best": """SELECT s, k, a FROM (SELECT w.start AS s, key AS k, n AS a,
      row_number() OVER (PARTITION BY w ORDER BY n DESC, key) AS place FROM h) WHERE place <= 2""",
    "over_join": """SELECT e.w.start AS s, e.key AS k, c.key AS o,
      row_number() OVER (PARTITION BY e.w ORDER BY e.n + c.n, e.key, c.key) AS r FROM e JOIN c ON e.w = c.w""",
}
SUB_QUERIES = {
    "exists": """SELECT e.w.start AS s, key AS k FROM e
      WHERE EXISTS (SELECT 1 FROM c WHERE c.w = e.w AND c.key = e.key AND c.n >= e.n)""",
    "not_exists": """SELECT w.start AS s, key AS k, n AS a FROM e
      WHERE n > 1 AND NOT EXISTS (SELECT * FROM c WHERE c.w = e.w AND c.key = e.key)""",
    "not_in": """SELECT w.start AS s, key AS k, n AS a FROM e
      WHERE key NOT IN (SELECT key FROM c WHERE c.w = e.w AND c.n > 1)""",
    "one_value": """SELECT w.start AS s, key AS k, n AS a,
      (SELECT count(*) FROM c AS x WHERE x.w = e.w AND x.key = e.key) AS b
      FROM e WHERE n >= (SELECT max(x.n) FROM c AS x WHERE x.w = e.w)""",
    "except": """SELECT w.start AS s, key AS k FROM (SELECT w, key FROM e EXCEPT SELECT w, key FROM c)""",
    "intersect": """SELECT w.start AS s, key AS k, n AS a
      FROM (SELECT w, key, n FROM e INTERSECT SELECT w, key, n FROM c)""",
}


def written(folder: Path) -> None:
    """Events in disorder of less than a second, which is how late they may be, and clicks of a quieter table."""
    dice = random.Random(7)
    for name, count, keys in (("events", 400, "abcdef"), ("clicks", 250, "adxyz")):
        seconds = sorted(dice.uniform(0, 1500) for _ in range(count))
        rows = [
            {
                "ts": (START + timedelta(seconds=second + dice.uniform(0, 0.9))).isoformat(timespec="milliseconds"),
                "key": dice.choice([*keys, None]),
                "value": dice.choice([None, *range(6)]),
            }
            for second in seconds
        ]
        (folder / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))


def spec_of(folder: Path, queries: Mapping[str, str] = QUERIES) -> RunSpec:
    written(folder)
    tables = "".join(
        f"""CREATE TABLE {name} (ts TIMESTAMP NOT NULL, key TEXT, value BIGINT) WITH (connector = 'single_file',
        path = '{folder / name}.json', format = 'json', type = 'source', event_time_field = 'ts');"""
        for name in ("events", "clicks")
    )
    sinks = "".join(
        f"""CREATE TABLE to_{name} WITH (connector = 'single_file', path = '{folder / name}.out', format = 'json',
        type = 'sink'); INSERT INTO to_{name} {query};"""
        for name, query in queries.items()
    )
    return RunSpec(
        "windows", tables + OURS + sinks, folder / "state", settings=replace(PLAIN_SETTINGS, max_epoch_rows=EPOCH_ROWS)
    )


def batch_answer(folder: Path, queries: Mapping[str, str] = QUERIES) -> dict[str, Counter[str]]:
    with duckdb.connect() as duck:
        duck.execute("SET default_null_order = 'nulls_last_on_asc_first_on_desc'")
        for name in ("events", "clicks"):
            columns = "{'ts': 'TIMESTAMP', 'key': 'VARCHAR', 'value': 'BIGINT'}"
            source = f"read_json('{folder / name}.json', format = 'newline_delimited', columns = {columns})"
            duck.execute(f"CREATE TABLE {name} AS SELECT * FROM {source}")
        duck.execute(ORACLE_FUNCTIONS)
        answers = {}
        for name, query in queries.items():
            rows = duck.execute(query)
            names = [column[0] for column in rows.description]
            answers[name] = Counter(shown(dict(zip(names, row, strict=True))) for row in rows.fetchall())
    return answers


def answer(folder: Path, queries: Mapping[str, str] = QUERIES) -> dict[str, Counter[str]]:
    return {
        name: Counter(shown(json.loads(line)) for line in (folder / f"{name}.out").read_text().splitlines())
        for name in queries
    }


def shown(row: dict[str, object]) -> str:
    """The row as text that is the same for the same values."""
    return json.dumps({name: _plain(value) for name, value in row.items()}, sort_keys=True)


def _plain(value: object) -> object:
    match value:
        case datetime():
            return value.isoformat()
        case float():
            return round(value, 9)
        case int() | str() | None:
            return value
    return float(str(value))


@pytest.mark.timeout(600)
def test_windows_give_the_batch_answer_over_many_epochs_a_stop_and_another_parallelism(
    spark: SparkSession, tmp_path: Path
) -> None:
    narrow = spec_of(tmp_path)

    stopped, before = play(spark, narrow, stop_after=1)
    repartition(narrow.state_dir, 2, lambda: spark)
    finished, after = play(spark, wider(narrow, 2))

    assert (stopped, finished) == ("stopped", "finished")
    assert min(len(before), len(after)) >= 2, "windows close on both sides of the stop"
    assert sum(report.late_rows for report in [*before, *after]) == 0
    expected, actual = batch_answer(tmp_path), answer(tmp_path)
    assert min(rows.total() for rows in expected.values()) > 10
    for name in QUERIES:
        assert actual[name] == expected[name], name


@pytest.mark.timeout(600)
def test_sub_queries_of_windows_give_the_batch_answer(spark: SparkSession, tmp_path: Path) -> None:
    few_epochs = replace(
        spec_of(tmp_path, SUB_QUERIES), settings=replace(spec_of(tmp_path, SUB_QUERIES).settings, max_epoch_rows=250)
    )

    assert play(spark, few_epochs)[0] == "finished"

    expected, actual = batch_answer(tmp_path, SUB_QUERIES), answer(tmp_path, SUB_QUERIES)
    assert min(rows.total() for rows in expected.values()) > 3
    for name in SUB_QUERIES:
        assert actual[name] == expected[name], name
