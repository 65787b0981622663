"""A source that falls silent altogether: its last window closes by the clock, and what comes later is late."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from engine.spark.run.lifecycle import RunSpec
from tests.streams.play import Step, at, play, write_script
from tests.streams.test_watermarks import COUNT, TABLES, answer, watermark_minutes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_last_window_closes_by_the_clock_also_across_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    silence = [Step(timedelta(minutes=minutes), {}) for minutes in (2, 21, 22)]
    first = Step(timedelta(0), {"a": [{"ts": at(1), "key": "a"}], "b": [{"ts": at(3), "key": "b"}]})
    waking = Step(timedelta(minutes=23), {"a": [{"ts": at(2), "key": "late"}, {"ts": at(22), "key": "open"}]})
    tables = TABLES.format(script=tmp_path / "script.json", output=tmp_path / "output.json")
    sql = tables.replace("idle_time", "quiet_after = '15 minutes', idle_time") + COUNT
    spec = RunSpec("events", sql, tmp_path / "state")
    write_script(tmp_path / "script.json", [first, *silence], bounded=False)

    _, reports = play(spark, spec, stop_after=3)

    assert max(mark for report in reports if (mark := watermark_minutes(report)) is not None) in (21, 22)
    assert answer(tmp_path) == {("2024-01-01T00:00:00", "a", 1): 1, ("2024-01-01T00:00:00", "b", 1): 1}

    write_script(tmp_path / "script.json", [first, *silence, waking])
    outcome, reports = play(spark, spec)

    assert outcome == "finished"
    assert sum(report.late_rows for report in reports) == 1
    assert answer(tmp_path) == {
        ("2024-01-01T00:00:00", "a", 1): 1,
        ("2024-01-01T00:00:00", "b", 1): 1,
        ("2024-01-01T00:20:00", "open", 1): 1,
    }
