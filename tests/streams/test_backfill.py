"""A range of history whose rows are in no order: the answer is that of the batch over the range, and stays it."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from engine.spark.run.lifecycle import RunSpec
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.values.start_positions import Backfill
from tests.streams.play import START, play

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = """
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, n BIGINT)
WITH (connector = 'filesystem', path = '{folder}/in', type = 'source', format = 'json', source.watch = true,
  source.settle_time = '0 seconds', event_time_field = 'at');
CREATE TABLE counts (hour TIMESTAMP, key TEXT, n BIGINT, total BIGINT)
WITH (connector = 'single_file', path = '{folder}/out.json', type = 'sink', format = 'json');
INSERT INTO counts SELECT w.start, key, n, total FROM (
  SELECT tumble(INTERVAL '1 hour') AS w, key, count(*) AS n, sum(n) AS total FROM clicks GROUP BY 1, 2);
"""


def backfill(folder: Path) -> RunSpec:
    """One of ten hours out of thirty."""
    chance = random.Random(16)
    moments = [START + timedelta(minutes=chance.randrange(-600, 1200)) for _ in range(600)]
    rows = [{"at": f"{at:%Y-%m-%dT%H:%M:%SZ}", "key": f"k{n % 3}", "n": n} for n, at in enumerate(moments)]
    (folder / "in").mkdir()
    for part in range(3):
        (folder / "in" / f"{part}.json").write_text("".join(json.dumps(row) + "\n" for row in rows[part::3]))
    hours = Backfill(START, START + timedelta(hours=10))
    return RunSpec(
        "hours",
        SQL.format(folder=folder),
        folder / "state",
        settings=replace(PLAIN_SETTINGS, max_epoch_rows=250, backfill=hours),
    )


def answer(folder: Path) -> list[tuple[object, ...]]:
    return duckdb.execute(f"SELECT hour::TIMESTAMP, key, n, total FROM '{folder}/out.json' ORDER BY 1, 2").fetchall()


def batch_answer(folder: Path) -> list[tuple[object, ...]]:
    return duckdb.execute(
        f"""SELECT date_trunc('hour', "at"), key, count(*), sum(n)
        FROM read_json('{folder}/in/[0-9].json', columns = {{"at": 'TIMESTAMP', key: 'TEXT', n: 'BIGINT'}})
        WHERE "at" >= '2024-01-01 00:00' AND "at" < '2024-01-01 10:00' GROUP BY 1, 2 ORDER BY 1, 2"""
    ).fetchall()


def test_backfill_equals_the_batch_result_of_its_range(spark: SparkSession, tmp_path: Path) -> None:
    outcome, reports = play(spark, backfill(tmp_path))

    assert outcome == "finished"
    assert len(reports) > 2
    assert sum(report.late_rows for report in reports) == 0
    assert answer(tmp_path) == batch_answer(tmp_path)


def test_once_it_has_ended_it_does_nothing_more(spark: SparkSession, tmp_path: Path) -> None:
    spec = backfill(tmp_path)
    play(spark, spec)
    row = {"at": f"{START:%Y-%m-%dT%H:%M:%SZ}", "key": "later", "n": 1}
    (tmp_path / "in" / "later.json").write_text(json.dumps(row) + "\n")

    assert play(spark, spec)[0] == "finished"
    assert play(spark, replace(spec, settings=replace(spec.settings, backfill=None)))[0] == "finished"
    assert answer(tmp_path) == batch_answer(tmp_path)
