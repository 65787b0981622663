"""Late rows go into a table of their own: each row of the input is in the output or there, once, also after a crash."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.checkpoints.late_batches import Stretch, untold
from engine.checkpoints.layout import StatePaths
from engine.spark.run.lifecycle import RunSpec
from tests.streams.play import Step, at, kill_in_epoch, play, read_rows, write_script

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = """
CREATE TABLE events (ts TIMESTAMP NOT NULL, key TEXT, wanted BOOLEAN, WATERMARK FOR ts)
WITH (connector = 'scripted', path = '{folder}/script.json', late_rows = 'too_late');
CREATE TABLE output (start TIMESTAMP, keys TEXT[])
WITH (connector = 'single_file', path = '{folder}/output.json', format = 'json', type = 'sink');
CREATE TABLE too_late (key TEXT, event_time TIMESTAMP, watermark TIMESTAMP)
WITH (connector = 'single_file', path = '{folder}/late.json', format = 'json', type = 'sink');
INSERT INTO output SELECT window.start, keys FROM (
  SELECT tumble(INTERVAL '10 minutes') AS window, array_agg(upper(key)) AS keys FROM events WHERE wanted GROUP BY window
);
"""


def steps() -> list[Step]:
    """A partition whose rows fall back by up to 30 minutes in every third step."""
    minutes = [tick * 10 - (30 if tick % 3 == 2 else 0) for tick in range(12)]
    return [
        Step(
            timedelta(minutes=tick),
            {"p": [{"ts": at(40 + minute), "key": f"k{tick}{part}", "wanted": part != 2} for part in range(3)]},
        )
        for tick, minute in enumerate(minutes)
    ]


def test_each_row_is_in_the_output_or_among_the_late_ones_once_across_a_kill(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_script(tmp_path / "script.json", steps())
    spec = RunSpec("events", SQL.format(folder=tmp_path), tmp_path / "state")

    kill_in_epoch(spec, 7)
    outcome, reports = play(spark, spec)

    late = read_rows(tmp_path / "late.json")
    in_time = [key.lower() for row in read_rows(tmp_path / "output.json") for key in row["keys"]]  # type: ignore[attr-defined]
    expected = [str(row["key"]) for step in steps() for row in step.rows["p"] if row["wanted"]]
    assert outcome == "finished"
    assert Counter([*in_time, *(str(row["key"]) for row in late)]) == Counter(expected)
    assert late
    assert in_time
    times = {row["key"]: str(row["ts"]).rstrip("Z") for step in steps() for row in step.rows["p"]}
    assert [row["event_time"] for row in late] == [times[row["key"]] for row in late]
    assert all(str(row["event_time"]) < str(row["watermark"]) for row in late)
    assert 0 < sum(report.late_rows for report in reports) <= len(late)
    minutes = {minute for batch in untold(StatePaths(spec.state_dir)) for minute in _minutes(batch.sinks["output"])}
    assert minutes == {int(datetime.fromisoformat(f"{row['event_time']}Z").timestamp()) // 60 for row in late}
    told = {report.epoch: report.late for report in reports if report.late}
    assert {batch.epoch: batch.sinks for batch in untold(StatePaths(spec.state_dir))}.items() >= told.items()
    assert all(late["output"] == late["too_late"] for late in told.values())


def test_the_minutes_of_late_rows_are_known_though_their_table_drops_them(spark: SparkSession, tmp_path: Path) -> None:
    played = steps()[:6]
    write_script(tmp_path / "script.json", played)
    sql = SQL.format(folder=tmp_path)
    begin = sql.index("WITH", sql.index("CREATE TABLE too_late"))
    dropping = f"{sql[:begin]}WITH (connector = 'blackhole'){sql[sql.index(';', begin) :]}"

    _, reports = play(spark, RunSpec("events", dropping, tmp_path / "state"))

    told = {minute for report in reports for minute in _minutes(report.late.get("output", ()))}
    fell_back = {str(row["ts"]) for step in played[2::3] for row in step.rows["p"]}
    assert told == {int(datetime.fromisoformat(time).timestamp()) // 60 for time in fell_back}


def _minutes(stretches: Sequence[Stretch]) -> list[int]:
    return [minute for begin, end in stretches for minute in range(begin, end)]


HOP, SESSION = "hop(INTERVAL '5 minutes', INTERVAL '10 minutes')", "session(INTERVAL '3 minutes')"


@pytest.mark.parametrize("window", [HOP, SESSION])
def test_late_are_those_rows_that_no_window_takes(spark: SparkSession, tmp_path: Path, window: str) -> None:
    played = steps()[:6]
    write_script(tmp_path / "script.json", played)
    sql = SQL.format(folder=tmp_path).replace("tumble(INTERVAL '10 minutes')", window)

    _, reports = play(spark, RunSpec("events", sql, tmp_path / "state"))

    late = [row["key"] for row in read_rows(tmp_path / "late.json")]
    in_time = {key.lower() for row in read_rows(tmp_path / "output.json") for key in row["keys"]}  # type: ignore[attr-defined]
    assert len(late) == len(set(late)) == sum(report.late_rows for report in reports) > 0
    assert in_time.isdisjoint(late)
    assert in_time.union(late) == {row["key"] for step in played for row in step.rows["p"] if row["wanted"]}


@pytest.mark.parametrize("window", ["tumble(INTERVAL '10 minutes')", HOP, SESSION])
def test_rows_of_windows_that_end_before_1970_are_late(spark: SparkSession, tmp_path: Path, window: str) -> None:
    times = ["1969-12-31T22:00:00Z", "1969-12-31T23:00:00Z", "1970-01-01T00:00:00Z", "1970-01-01T06:00:00Z"]
    played = [
        Step(timedelta(minutes=tick), {"p": [{"ts": time, "key": f"k{tick}", "wanted": True}]})
        for tick, time in enumerate(times)
    ]
    write_script(tmp_path / "script.json", played)
    sql = SQL.format(folder=tmp_path).replace("tumble(INTERVAL '10 minutes')", window)

    _, reports = play(spark, RunSpec("events", sql, tmp_path / "state"))

    assert [row["key"] for row in read_rows(tmp_path / "late.json")] == ["k0", "k1"]
    assert sum(report.late_rows for report in reports) == 2
    in_time = {key for row in read_rows(tmp_path / "output.json") for key in row["keys"]}  # type: ignore[attr-defined]
    assert in_time == {"K2", "K3"}
