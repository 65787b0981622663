"""Files that span epochs, written by real runs."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.spark.run.lifecycle import Outcome, RunSpec, run_in
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.spark.run.stop_control import Control
from engine.values.epoch_report import EpochReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCRIPT = """
CREATE TABLE numbers (n BIGINT NOT NULL, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at) WITH (
  connector = 'single_file', path = '$folder/in.json', format = 'json', type = 'source'
);
CREATE TABLE hours WITH (
  connector = 'filesystem', path = '$folder/out', format = 'json', type = 'sink',
  'rolling_policy.interval' = '1 day', 'partitioning.time_pattern' = '%H'
);
"""
AS_THEY_COME = SCRIPT + "INSERT INTO hours SELECT n FROM numbers;"
# no two rows are in the same window
PER_WINDOW = SCRIPT + "INSERT INTO hours SELECT sum(n) AS n FROM numbers GROUP BY tumble(INTERVAL '20 minutes');"
TIMES = ["01:10", "01:20", "01:50", "02:10", "02:30", "03:10", "03:20", "04:10", "05:10", "05:20", "06:10", "06:20"]
HOURS = {"01": [0, 1, 2], "02": [3, 4], "03": [5, 6], "04": [7], "05": [8, 9], "06": [10, 11]}


class Runs:
    """Runs of one pipeline, two rows in an epoch. What can be seen is noted whenever an epoch is committed."""

    def __init__(self, spark: SparkSession, folder: Path, sql: str) -> None:
        rows = [{"n": number, "at": f"2024-05-06T{time}:00Z"} for number, time in enumerate(TIMES)]
        (folder / "in.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
        self.spark = spark
        self.folder = folder
        self.sql = sql.replace("$folder", str(folder))
        self.observations: list[tuple[str | None, dict[str, list[int]]]] = []
        self.promises: list[tuple[datetime | None, set[int]]] = []

    def run(self, *, stop_after: int | None = None) -> Outcome:
        control = Control()

        def on_epoch(report: EpochReport) -> None:
            mark = report.watermark and report.watermark.strftime("%H:%M")
            self.observations.append((mark, self.files()))
            self.promises.append((report.sinks["hours"].complete_until, self.published()))
            if report.epoch == stop_after:
                control.stop("checkpoint")

        spec = RunSpec("rolling", self.sql, self.folder / "state", settings=replace(PLAIN_SETTINGS, max_epoch_rows=2))
        return run_in(self.spark, spec, control, on_epoch)

    def published(self) -> set[int]:
        """The numbers in all files that can be read, whole or not."""
        files = (self.folder / "out").rglob("*.json")
        return {json.loads(line)["n"] for file in files for line in file.read_text().splitlines()}

    def files(self) -> dict[str, list[int]]:
        """The numbers in each directory that is marked as complete; each must have one file."""
        numbers = {}
        for mark in sorted((self.folder / "out").glob("*/_SUCCESS")):
            [file] = mark.parent.glob("*.json")
            numbers[mark.parent.name] = sorted(json.loads(line)["n"] for line in file.read_text().splitlines())
        return numbers


def test_files_behind_the_watermark_are_readable(spark: SparkSession, tmp_path: Path) -> None:
    runs = Runs(spark, tmp_path, AS_THEY_COME)

    assert runs.run() == "finished"

    assert runs.files() == HOURS
    for mark, files in runs.observations:
        # another epoch may have been committed by the time that a report is read
        passed = [hour for hour in HOURS if mark is not None and (mark == "23:59" or f"{int(hour) + 1:02}:00" <= mark)]
        assert {hour: files.get(hour) for hour in passed} == {hour: HOURS[hour] for hour in passed}
    assert any(mark is not None and "02:00" <= mark <= "06:00" for mark, _ in runs.observations)


@pytest.mark.parametrize("sql", [AS_THEY_COME, PER_WINDOW], ids=["as they come", "per window"])
def test_rows_in_open_files_are_not_complete(sql: str, spark: SparkSession, tmp_path: Path) -> None:
    runs = Runs(spark, tmp_path, sql)
    times = [datetime.fromisoformat(f"2024-05-06T{time}:00+00:00") for time in TIMES]

    runs.run(stop_after=3)
    assert runs.run() == "finished"

    for until, published in runs.promises:
        # another epoch may have been committed by the time that a report is read
        assert until is None or {number for number, time in enumerate(times) if time < until} <= published
    known = [until for until, _ in runs.promises if until is not None]
    assert known == sorted(known)
    assert any(times[2] < until < times[-1] for until in known), "it is known in the middle, not only at the end"
    for until, published in runs.promises[1:]:
        if sql == AS_THEY_COME and until is not None and {0, 1, 2} <= published:
            assert until >= datetime(2024, 5, 6, 2, tzinfo=UTC), "an hour that is published is complete at once"
    assert runs.promises[0][0] is None, "the first file is open, and holds the first rows"


@pytest.mark.parametrize("sql", [AS_THEY_COME, PER_WINDOW], ids=["as they come", "per window"])
def test_open_files_are_filled_on_after_a_stop(sql: str, spark: SparkSession, tmp_path: Path) -> None:
    runs = Runs(spark, tmp_path, sql)

    assert runs.run(stop_after=0) == "stopped"
    before = runs.files()
    assert runs.run() == "finished"

    assert len(before) < len(HOURS)
    assert runs.files() == HOURS
