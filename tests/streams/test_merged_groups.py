"""Rows that are merged below updating aggregates change nothing but the work: results and figures are the same."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from engine.spark.run.lifecycle import RunSpec
from engine.spark.run.run_spec import PLAIN_SETTINGS
from tests.golden.folding import fold
from tests.streams.play import Step, at, play, write_script
from tests.streams.test_fused import figures
from tests.streams.test_merged_rows import is_merged

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = """
CREATE TABLE events (ts TIMESTAMP NOT NULL, key TEXT, number BIGINT, small INT, WATERMARK FOR ts)
WITH (connector = 'scripted', path = '{folder}/script.json');
CREATE TABLE others (ts TIMESTAMP NOT NULL, key TEXT, number BIGINT, small INT, WATERMARK FOR ts)
WITH (connector = 'scripted', path = '{folder}/script.json');
CREATE TABLE keyed (key TEXT, k BIGINT, n BIGINT, numbers BIGINT, total BIGINT, smalls BIGINT, least BIGINT, last TEXT)
WITH (connector = 'single_file', path = '{folder}/keyed.json', format = 'debezium_json', type = 'sink');
CREATE TABLE lone (n BIGINT, most INT)
WITH (connector = 'single_file', path = '{folder}/lone.json', format = 'debezium_json', type = 'sink');
INSERT INTO keyed SELECT {keyed};
INSERT INTO lone SELECT {lone};
"""
KEYED = """key, number % 2 AS k, count(*) AS n, count(number) AS numbers, sum(number) AS total, sum(small) AS smalls,
  min(number) AS least, max(key) AS last FROM events WHERE small IS NULL OR small <> 3 GROUP BY key, k"""
LONE = "count(*) AS n, max(small) AS most FROM others WHERE number > 1"
Row = tuple[str, str | None, int | None, int | None]


def rows_of(tick: int) -> list[Row]:
    chance = random.Random(tick)

    def row() -> Row:
        key, number, small = chance.choice("abc") if tick else None, chance.choice([None, 1, 2, 9]), chance.randrange(6)
        return at(tick + chance.random()), key, number, small or None

    return [row() for _ in range(16)]


def spec(folder: Path, *, fuse: bool) -> RunSpec:
    folder.mkdir(exist_ok=True)
    names = ("ts", "key", "number", "small")
    steps = [[dict(zip(names, row, strict=True)) for row in rows_of(tick)] for tick in range(10)]
    write_script(
        folder / "script.json", [Step(timedelta(minutes=tick), {"p": rows}) for tick, rows in enumerate(steps)]
    )
    sql = SQL.format(folder=folder, keyed=KEYED, lone=LONE)
    return RunSpec("groups", sql, folder / "state", settings=replace(PLAIN_SETTINGS, max_epoch_rows=16, fuse=fuse))


def results(folder: Path) -> list[list[str]]:
    """What the changes of both sinks come to."""
    parts = (("keyed", ["key", "k"]), ("lone", []))
    folded = [fold((folder / f"{name}.json").read_text().splitlines(), keys) for name, keys in parts]
    return [sorted(str(tuple(row.values())) for row in rows.values()) for rows in folded]


def batch_answers() -> list[list[str]]:
    with duckdb.connect() as database:
        rows: Sequence[Row] = [row for tick in range(10) for row in rows_of(tick)]
        for table in ("events", "others"):
            database.execute(f"CREATE TABLE {table} (ts TEXT, key TEXT, number BIGINT, small INT)")
            database.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", rows)
        return [sorted(map(str, database.execute(f"SELECT {query}").fetchall())) for query in (KEYED, LONE)]


def test_merged_rows_give_updating_aggregates_the_same(spark: SparkSession, tmp_path: Path) -> None:
    plain, merged = (spec(tmp_path / name, fuse=name == "merged") for name in ("plain", "merged"))
    assert (is_merged(plain), is_merged(merged)) == (False, True)

    plain_end, plain_reports = play(spark, plain)
    merged_end, merged_reports = play(spark, merged)

    assert plain_end == merged_end == "finished"
    assert figures(merged_reports) == figures(plain_reports)
    assert results(tmp_path / "merged") == results(tmp_path / "plain") == batch_answers()


def test_a_state_of_groups_goes_on_whichever_way_it_was_begun(spark: SparkSession, tmp_path: Path) -> None:
    switched = spec(tmp_path / "switched", fuse=False)

    assert play(spark, switched, stop_after=2)[0] == "stopped"
    assert play(spark, replace(switched, settings=replace(switched.settings, fuse=True)), stop_after=4)[0] == "stopped"
    assert play(spark, switched, stop_after=6)[0] == "stopped"
    assert play(spark, replace(switched, settings=replace(switched.settings, fuse=True)))[0] == "finished"

    assert results(tmp_path / "switched") == batch_answers()
