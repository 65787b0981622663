"""The figures of each table, phase and state that a real run reports."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from engine.jobs.decisions.totals import Totals, add_epochs
from engine.spark.run.lifecycle import RunSpec
from engine.values.epoch_report import PHASES
from tests.streams.play import Step, at, play, read_rows, write_script

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = """
CREATE TABLE events (ts TIMESTAMP NOT NULL, key TEXT, WATERMARK FOR ts)
WITH (connector = 'scripted', path = '{folder}/script.json');
CREATE TABLE lines (key TEXT)
WITH (connector = 'single_file', path = '{folder}/lines', format = 'json', type = 'source', bad_data = 'drop');
CREATE TABLE windows WITH (connector = 'single_file', path = '{folder}/windows', format = 'json', type = 'sink');
CREATE TABLE copy WITH (connector = 'single_file', path = '{folder}/copy', format = 'json', type = 'sink');
INSERT INTO windows SELECT w.start AS start, n FROM (
  SELECT tumble(INTERVAL '1 minute') AS w, count(*) AS n FROM events GROUP BY w);
INSERT INTO copy SELECT key FROM lines;
"""
MINUTES = [[0, 1, 2], [5, 6], [0, 7], [1, 8, 9], [10]]


def test_rows_late_rows_and_dropped_rows_are_those_of_their_tables(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{"p": [{"ts": at(minute), "key": "k"} for minute in minutes]} for minutes in MINUTES]
    write_script(tmp_path / "script.json", [Step(timedelta(minutes=tick), row) for tick, row in enumerate(rows)])
    (tmp_path / "lines").write_text('{"key": "a"}\nnot json\n{"key": "b"}\n')

    outcome, reports = play(spark, RunSpec("events", SQL.format(folder=tmp_path), tmp_path / "state"))

    totals = add_epochs(Totals(), reports)
    tables = totals.tables
    assert outcome == "finished"
    assert tables["events"].rows_in == sum(map(len, MINUTES)) == 11
    assert tables["events"].late_rows == totals.late_rows == 2
    assert (tables["lines"].rows_in, tables["lines"].dropped_rows, tables["lines"].dead_letters) == (2, 1, None)
    assert tables["windows"].rows_out == len(read_rows(tmp_path / "windows"))
    assert tables["copy"].rows_out == len(read_rows(tmp_path / "copy")) == 2
    assert totals.rows_in == 13
    assert set(totals.phases) == set(PHASES)
    assert totals.phases["compute"] > timedelta(0)
    assert totals.phases["deliver"] > timedelta(0)
    assert sum(totals.phases.values(), timedelta(0)) < totals.duration * 1.05
    assert totals.state_changes > 0


TWICE = """
CREATE TABLE lines (key TEXT, n INT)
WITH (connector = 'single_file', path = '{folder}/lines', format = 'json', type = 'source');
CREATE TABLE pairs (a INT, b INT)
WITH (connector = 'single_file', path = '{folder}/pairs', format = 'json', type = 'sink');
CREATE TABLE both (key TEXT) WITH (connector = 'single_file', path = '{folder}/both', format = 'json', type = 'sink');
INSERT INTO pairs SELECT a.n, b.n FROM lines AS a JOIN lines AS b ON a.key = b.key;
INSERT INTO both SELECT key FROM lines UNION ALL SELECT key FROM lines;
"""


def test_a_row_that_is_read_several_times_is_one_row(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("".join(f'{{"key": "k{number}", "n": {number}}}\n' for number in range(5)))

    _, reports = play(spark, RunSpec("twice", TWICE.format(folder=tmp_path), tmp_path / "state"))

    assert sum(report.rows_in for report in reports) == 5
    assert len(read_rows(tmp_path / "both")) == 10
