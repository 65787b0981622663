"""Rows of the last seconds that a timestamp can be of are written when the input ends, in windows of every kind."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.spark.run.lifecycle import RunSpec
from engine.spark.run.run_spec import PLAIN_SETTINGS
from tests.streams.play import play, read_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

END = "9999-12-31T23:59:59"
ROWS = [
    {"ts": f"{END}.999999Z", "key": "a"},
    {"ts": f"{END}Z", "key": "a"},
    {"ts": "2024-01-01T00:00:00Z", "key": "a"},
    {"ts": "0001-01-01T00:00:00Z", "key": "a"},
]
SOURCE = """
CREATE TABLE events (ts TIMESTAMP NOT NULL, key TEXT, WATERMARK FOR ts AS ts - INTERVAL '1 second')
WITH (connector = 'single_file', path = '{folder}/events.json', format = 'json', type = 'source');
"""
WINDOWS = {
    "tumble": "tumble(INTERVAL '1 minute')",
    "hop": "hop(INTERVAL '1 minute', INTERVAL '2 minutes')",
    "session": "session(INTERVAL '1 minute')",
}
COUNT = """
CREATE TABLE {name} (start TIMESTAMP, until TIMESTAMP, n BIGINT)
WITH (connector = 'single_file', path = '{folder}/{name}.json', format = 'json', type = 'sink');
INSERT INTO {name} SELECT w.start, w.end, n FROM (SELECT {window} AS w, key, count(*) AS n FROM events GROUP BY w, key);
"""
RELATED = """
CREATE TABLE related (start TIMESTAMP, n BIGINT, place BIGINT)
WITH (connector = 'single_file', path = '{folder}/related.json', format = 'json', type = 'sink');
CREATE VIEW counted AS (
  SELECT tumble(INTERVAL '1 minute') AS w, key, count(*) AS n FROM events GROUP BY w, key
);
INSERT INTO related SELECT w.start, n, place FROM (
  SELECT a.w, a.n, row_number() OVER (PARTITION BY a.w ORDER BY a.n) AS place
  FROM counted a JOIN counted b ON a.w = b.w AND a.key = b.key
);
"""


def spec_of(folder: Path, sql: str, *, fuse: bool = True) -> RunSpec:
    (folder / "events.json").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return RunSpec(
        "end", (SOURCE + sql).format(folder=folder), folder / "state", settings=replace(PLAIN_SETTINGS, fuse=fuse)
    )


@pytest.mark.parametrize("fuse", [True, False])
def test_rows_of_the_last_second_are_in_their_windows(spark: SparkSession, tmp_path: Path, fuse: bool) -> None:
    sql = "".join(COUNT.format(folder="{folder}", name=name, window=window) for name, window in WINDOWS.items())
    spec = spec_of(tmp_path, sql + RELATED, fuse=fuse)

    outcome, reports = play(spark, spec)

    def rows_of(name: str) -> list[tuple[object, ...]]:
        rows = [tuple(row.values()) for row in read_rows(tmp_path / f"{name}.json")]
        return [row for row in rows if str(row[0]).startswith(("9999", "+"))]

    assert outcome == "finished"
    assert rows_of("tumble") == [("9999-12-31T23:59:00", "+10000-01-01T00:00:00", 2)]
    assert sorted(rows_of("hop")) == [
        ("9999-12-31T23:58:00", "+10000-01-01T00:00:00", 2),
        ("9999-12-31T23:59:00", "+10000-01-01T00:01:00", 2),
    ]
    assert rows_of("session") == [(END, "+10000-01-01T00:00:59.999999", 2)]
    assert rows_of("related") == [("9999-12-31T23:59:00", 2, 1)]
    assert reports[-1].is_last
    assert reports[-1].watermark is not None
    assert reports[-1].watermark.isoformat() == f"{END}+00:00"
