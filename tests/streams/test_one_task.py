"""An epoch part that one task does over Arrow gives what Spark makes of it, also where rows are too many for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import Row

from engine.spark.run import epoch as epoch_part
from engine.spark.run import lifecycle as run
from engine.spark.run.lifecycle import RunSpec
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.spark.run.single_task import OneTaskPlace, put_aside_in
from engine.values.epoch_report import EpochReport
from tests.streams.play import Step, at, kill_in_epoch, play, read_rows, write_script

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = """
CREATE TABLE sales (ts TIMESTAMP NOT NULL, shop TEXT, amount BIGINT, WATERMARK FOR ts)
WITH (connector = 'scripted', path = '{folder}/sales-script.json');
CREATE TABLE visits (ts TIMESTAMP NOT NULL, place TEXT, who BIGINT, WATERMARK FOR ts)
WITH (connector = 'scripted', path = '{folder}/visits-script.json');
CREATE TABLE both (start TIMESTAMP, shop TEXT, total BIGINT, n BIGINT)
WITH (connector = 'single_file', path = '{folder}/both.json', format = 'json', type = 'sink');
CREATE TABLE best (start TIMESTAMP, shop TEXT, total BIGINT, place BIGINT)
WITH (connector = 'single_file', path = '{folder}/best.json', format = 'json', type = 'sink');
CREATE TABLE nowhere WITH (connector = 'blackhole');
CREATE VIEW sold AS (
  SELECT tumble(INTERVAL '10 minutes') AS w, shop, sum(amount) AS total FROM sales GROUP BY w, shop
);
CREATE VIEW visited AS (
  SELECT tumble(INTERVAL '10 minutes') AS w, place, count(*) AS n FROM visits GROUP BY w, place
);
INSERT INTO both SELECT w.start, shop, total, n FROM (
  SELECT a.w, shop, total, n FROM sold a LEFT JOIN visited b ON a.w = b.w AND shop = place AND n < total
);
INSERT INTO best SELECT w.start, shop, total, place FROM (
  SELECT w, shop, total, row_number() OVER (PARTITION BY w ORDER BY total DESC, shop) AS place FROM sold
) WHERE place <= 2;
INSERT INTO nowhere SELECT a.shop FROM sold a JOIN visited b ON a.w = b.w;
"""


def spec(folder: Path, *, fuse: bool = True) -> RunSpec:
    """Ten minutes of both in each step, some of them late; a shop may have no name."""
    folder.mkdir(exist_ok=True)
    shops = ["a", "b", "ä", None]
    for table, name, value in (("sales", "shop", "amount"), ("visits", "place", "who")):
        steps = []
        for tick in range(5):
            ts = at(40 + tick * 7 - (30 if tick == 2 else 0))
            rows = [{"ts": ts, name: shops[row % 4], value: tick * row} for row in range(tick % 3 + 3 + len(table) % 2)]
            steps.append(Step(timedelta(minutes=tick), {"p": rows}))
        write_script(folder / f"{table}-script.json", steps)
    return RunSpec(
        "shops",
        SQL.format(folder=folder),
        folder / "state",
        2,
        settings=replace(PLAIN_SETTINGS, max_epoch_rows=8, fuse=fuse),
    )


def figures(reports: Sequence[EpochReport]) -> list[object]:
    """What is told of the epochs, but for times and sizes."""
    return [
        (report.epoch, report.rows_in, report.rows_out, report.watermark, report.late_rows, report.state_changes)
        for report in reports
    ]


def written(folder: Path) -> list[Counter[str]]:
    """The rows of both files."""
    return [Counter(map(str, read_rows(folder / f"{name}.json"))) for name in ("both", "best")]


@pytest.fixture
def put_aside(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files with rows that were too many for a task."""
    found: list[Path] = []

    def noted(answers: Sequence[Row]) -> Path | None:
        path = put_aside_in(answers)
        if path is not None:
            found.append(path)
            assert path.exists()
        return path

    monkeypatch.setattr(epoch_part, "put_aside_in", noted)
    return found


def test_single_task_result_equals_spark_also_after_a_kill(
    spark: SparkSession, tmp_path: Path, put_aside: list[Path]
) -> None:
    plain, ours, killed = (tmp_path / name for name in ("plain", "ours", "killed"))
    outcome, plain_reports = play(spark, spec(plain, fuse=False))
    our_outcome, our_reports = play(spark, spec(ours))

    assert outcome == our_outcome == "finished"
    assert figures(our_reports) == figures(plain_reports)
    assert sum(report.late_rows for report in our_reports) > 0
    assert written(ours) == written(plain)
    assert [rows.total() > 3 for rows in written(plain)] == [True, True]
    assert put_aside == []

    kill_in_epoch(spec(killed), 2)
    assert play(spark, spec(killed, fuse=False), stop_after=3)[0] == "stopped"
    assert play(spark, spec(killed))[0] == "finished"
    assert written(killed) == written(plain)


def play_with(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch, **limits: int
) -> tuple[str, Sequence[EpochReport]]:
    """A run whose task has other limits."""
    monkeypatch.setattr(run, "OneTaskPlace", partial(OneTaskPlace, **limits))
    return play(spark, replace(spec(folder), parallelism=1))


def test_rows_that_are_too_many_for_a_task_are_put_aside_and_left_to_spark(
    spark: SparkSession, tmp_path: Path, put_aside: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    play(spark, spec(tmp_path / "plain", fuse=False))

    outcome, reports = play_with(spark, tmp_path / "ours", monkeypatch, most_bytes=0, rests_for=0)

    assert outcome == "finished"
    assert written(tmp_path / "ours") == written(tmp_path / "plain")
    assert len(put_aside) > 0
    assert not any(path.exists() for path in put_aside)
    assert sum(report.late_rows for report in reports) > 0


def test_pairs_that_are_too_many_for_a_task_are_left_to_spark_as_are_some_epochs_after_them(
    spark: SparkSession, tmp_path: Path, put_aside: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    play(spark, spec(tmp_path / "plain", fuse=False))

    outcome, reports = play_with(spark, tmp_path / "ours", monkeypatch, most_pairs=1)

    assert outcome == "finished"
    assert written(tmp_path / "ours") == written(tmp_path / "plain")
    assert len(put_aside) == 1 < len(reports)
