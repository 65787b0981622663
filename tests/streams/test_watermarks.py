"""Streams of several partitions: no row is lost, windows close at the pace of the slowest, idleness ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.spark.run.lifecycle import RunSpec
from engine.values.epoch_report import EpochReport
from tests.streams.play import Row, Step, at, kill_in_epoch, play, read_rows, write_script

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = """
CREATE TABLE events (ts TIMESTAMP NOT NULL, key TEXT, WATERMARK FOR ts)
WITH (connector = 'scripted', path = '{script}', idle_time = INTERVAL '5 minutes');
CREATE TABLE output (start TIMESTAMP, key TEXT, n BIGINT)
WITH (connector = 'single_file', path = '{output}', format = 'json', type = 'sink');
"""
COUNT = """
INSERT INTO output SELECT window.start, key, n FROM (
  SELECT tumble(INTERVAL '10 minutes') AS window, key, count(*) AS n FROM events GROUP BY window, key
);
"""


def three_partitions() -> list[Step]:
    """One partition is up to date, one an hour behind, one silent after its first rows."""
    steps = []
    for tick in range(18):
        minutes = tick * 10
        rows: dict[str, Sequence[Row]] = {
            "fast": [{"ts": at(60 + minutes + part), "key": f"fast{part}"} for part in range(3)],
            "slow": [{"ts": at(minutes + part), "key": f"slow{part}"} for part in range(3)],
        }
        if tick == 0:
            rows["silent"] = [{"ts": at(0), "key": "silent"}]
        steps.append(Step(timedelta(minutes=tick), rows))
    return steps


def spec_of(folder: Path, steps: Sequence[Step], sql: str = COUNT) -> RunSpec:
    write_script(folder / "script.json", steps)
    tables = TABLES.format(script=folder / "script.json", output=folder / "output.json")
    return RunSpec("events", tables + sql, folder / "state")


def batch_answer(steps: Sequence[Step]) -> Counter[tuple[str, str, int]]:
    counts: Counter[tuple[str, str]] = Counter()
    for step in steps:
        for rows in step.rows.values():
            for row in rows:
                ts = datetime.fromisoformat(str(row["ts"]))
                start = ts.replace(minute=ts.minute - ts.minute % 10)
                counts[start.strftime("%Y-%m-%dT%H:%M:%S"), str(row["key"])] += 1
    return Counter((start, key, n) for (start, key), n in counts.items())


def answer(folder: Path) -> Counter[tuple[object, ...]]:
    return Counter((row["start"], row["key"], row["n"]) for row in read_rows(folder / "output.json"))


def watermark_minutes(report: EpochReport) -> float | None:
    if report.watermark is None:
        return None
    return (report.watermark - datetime(2024, 1, 1, tzinfo=UTC)).total_seconds() / 60


@dataclass(frozen=True, slots=True)
class Run:
    """A run over a slow and a silent partition, and where it has written."""

    folder: Path
    steps: list[Step]
    outcome: str
    reports: list[EpochReport]


@pytest.fixture(scope="module")
def slow_and_silent(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder, steps = tmp_path_factory.mktemp("slow_and_silent"), three_partitions()
    outcome, reports = play(spark, spec_of(folder, steps))
    return Run(folder, steps, outcome, reports)


def test_a_slow_and_a_silent_partition_lose_no_row(slow_and_silent: Run) -> None:
    assert slow_and_silent.outcome == "finished"
    assert answer(slow_and_silent.folder) == batch_answer(slow_and_silent.steps)
    assert sum(report.late_rows for report in slow_and_silent.reports) == 0


def test_windows_wait_for_the_silent_partition_and_then_follow_the_slow_one(slow_and_silent: Run) -> None:
    marks = {report.epoch: watermark_minutes(report) for report in slow_and_silent.reports if not report.is_last}
    waiting = [marks[epoch] for epoch in range(2, 6)]
    assert set(waiting) <= {None, 0.0}, "the silent partition still counts"
    following = [(epoch, mark) for epoch, mark in marks.items() if mark is not None and 0 < mark < 200]
    assert following, "the watermark has moved on after the idle time"
    assert all(mark <= epoch * 10 for epoch, mark in following), "never ahead of the slow partition"
    assert max(mark for _, mark in following) >= 120


def test_a_kill_in_the_middle_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    steps = three_partitions()
    spec = spec_of(tmp_path, steps)

    kill_in_epoch(spec, 9)
    outcome, _ = play(spark, spec)

    assert outcome == "finished"
    assert answer(tmp_path) == batch_answer(steps)


def test_a_row_is_late_only_when_its_window_is_closed(spark: SparkSession, tmp_path: Path) -> None:
    steps = [
        Step(timedelta(0), {"p": [{"ts": at(1), "key": "a"}]}),
        Step(timedelta(minutes=1), {"p": [{"ts": at(15), "key": "a"}]}),
        Step(timedelta(minutes=2), {"p": [{"ts": at(16), "key": "a"}]}),
        Step(timedelta(minutes=3), {"p": [{"ts": at(12), "key": "behind, but its window is open"}]}),
        Step(timedelta(minutes=4), {"p": [{"ts": at(2), "key": "late"}, {"ts": at(3), "key": "late"}]}),
        Step(timedelta(minutes=5), {"p": [{"ts": at(17), "key": "a"}]}),
    ]

    _, reports = play(spark, spec_of(tmp_path, steps))

    expected = {("2024-01-01T00:00:00", "a", 1): 1, ("2024-01-01T00:10:00", "a", 3): 1}
    expected["2024-01-01T00:10:00", "behind, but its window is open", 1] = 1
    assert answer(tmp_path) == Counter(expected)
    assert sum(report.late_rows for report in reports) == 2


def test_the_end_may_come_after_a_look_that_found_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """Spark has been told a watermark for the next epoch by then, and refuses another one."""
    steps = [
        Step(timedelta(0), {"p": [{"ts": at(1), "key": "a"}]}),
        Step(timedelta(minutes=1), {"p": [{"ts": at(15), "key": "a"}]}),
        *(Step(timedelta(minutes=minute), {}) for minute in range(2, 5)),
        Step(timedelta(minutes=5), {"p": [{"ts": at(16), "key": "a"}]}),
    ]

    outcome, _ = play(spark, spec_of(tmp_path, steps))

    assert outcome == "finished"
    assert answer(tmp_path) == batch_answer(steps)


def test_the_same_window_again_is_answered_within_an_epoch(spark: SparkSession, tmp_path: Path) -> None:
    steps = three_partitions()
    nested = """
    CREATE VIEW counts AS
    SELECT tumble(INTERVAL '10 minutes') AS window, key, count(*) AS n FROM events GROUP BY window, key;
    INSERT INTO output SELECT window.start, 'keys', keys FROM (
      SELECT window, count(*) AS keys FROM counts GROUP BY window
    );
    INSERT INTO output SELECT window.start, key, n FROM counts WHERE key = 'slow0';
    """

    play(spark, spec_of(tmp_path, steps, nested))

    counts = batch_answer(steps)
    keys = Counter(start for start, _, _ in counts)
    expected = Counter({(start, "keys", n): 1 for start, n in keys.items()})
    expected.update({row: 1 for row in counts if row[1] == "slow0"})
    assert answer(tmp_path) == expected


def test_sessions_that_are_exactly_the_gap_apart_stay_apart(spark: SparkSession, tmp_path: Path) -> None:
    times = [0, 5, 14, 24.5, 34.5, 60]
    steps = [Step(timedelta(minutes=index), {"p": [{"ts": at(time), "key": "a"}]}) for index, time in enumerate(times)]
    sessions = """
    INSERT INTO output SELECT window.start, key, n FROM (
      SELECT session(INTERVAL '10 minutes') AS window, key, count(*) AS n FROM events GROUP BY window, key
    );
    """

    play(spark, spec_of(tmp_path, steps, sessions))

    starts = {"2024-01-01T00:00:00": 3, "2024-01-01T00:24:30": 1, "2024-01-01T00:34:30": 1, "2024-01-01T01:00:00": 1}
    assert answer(tmp_path) == Counter({(start, "a", n): 1 for start, n in starts.items()})
