"""How many rows windows keep, as a real run counts them; also where an earlier run has not counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from engine.spark.run.lifecycle import RunSpec
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.values.epoch_report import EpochReport
from tests.streams.play import Step, at, play, write_script

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = """
CREATE TABLE events (ts TIMESTAMP NOT NULL, key TEXT, WATERMARK FOR ts)
WITH (connector = 'scripted', path = '{folder}/script.json');
CREATE TABLE windows WITH (connector = 'single_file', path = '{folder}/windows', format = 'json', type = 'sink');
CREATE TABLE visits WITH (connector = 'single_file', path = '{folder}/visits', format = 'json', type = 'sink');
INSERT INTO windows SELECT w.start AS start, key, n FROM (
  SELECT tumble(INTERVAL '10 minutes') AS w, key, count(*) AS n FROM events GROUP BY w, key);
INSERT INTO visits SELECT w.start AS start, key, n FROM (
  SELECT session(INTERVAL '5 minutes') AS w, key, count(*) AS n FROM events GROUP BY w, key);
"""
ROWS = [(step * 4 + number, "abc"[(step + number) % 3]) for step in range(8) for number in range(4)]
"""Minutes and keys: four to an epoch, none of them late."""


def kept_windows(rows_in: int, rows_out: int) -> int:
    """The windows of the rows read so far that are not written yet."""
    return len({(minute // 10, key) for minute, key in ROWS[:rows_in]}) - rows_out


def totals(reports: Sequence[EpochReport]) -> Mapping[int, tuple[int, int]]:
    """By epoch, the rows read and the windows written so far."""
    read, written, so_far = 0, 0, {}
    for report in reports:
        read += report.tables["events"].rows_in or 0
        written += report.tables["windows"].rows_out or 0
        so_far[report.epoch] = (read, written)
    return so_far


def test_the_rows_that_windows_keep_are_counted_where_that_is_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    rows = [
        {"p": [{"ts": at(minute), "key": key} for minute, key in ROWS[begin : begin + 4]]} for begin in range(0, 32, 4)
    ]
    write_script(tmp_path / "script.json", [Step(timedelta(minutes=tick), row) for tick, row in enumerate(rows)])
    silent = RunSpec(
        "events", SQL.format(folder=tmp_path), tmp_path / "state", settings=replace(PLAIN_SETTINGS, max_epoch_rows=4)
    )
    counting = replace(silent, settings=replace(silent.settings, count_state=True))

    reports = [
        *(begun := play(spark, counting, stop_after=1)[1]),
        *(between := play(spark, silent, stop_after=3)[1]),
        *(ended := play(spark, counting)[1]),
    ]

    assert {len(report.state_rows) for report in between} == {0}
    so_far = totals(reports)
    for report in (*begun, *ended):
        assert report.state_rows["windows"] == kept_windows(*so_far[report.epoch]), report.epoch
        assert report.state_rows["sessions"] <= 3, "each key has one at most"
    assert max(report.state_rows["windows"] for report in ended) > 3
    assert ended[-1].state_rows == {"windows": 0, "sessions": 0}
