"""Rows that no sink wants are computed, and not kept for a second look."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.classic.dataframe import DataFrame

from engine.spark.run import RunSpec
from tests.streams.play import play

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = """
CREATE TABLE ticks WITH (
  connector = 'impulse', event_rate = '1000', message_count = '40', event_time_interval = '1 second',
  start_time = '2024-01-01T00:00:00Z'
);
CREATE TABLE nowhere WITH (connector = 'blackhole');
INSERT INTO nowhere SELECT a.n AS n, b.n AS m
FROM (SELECT tumble(INTERVAL '10 seconds') AS w, count(*) AS n FROM ticks GROUP BY w) a
JOIN (SELECT tumble(INTERVAL '10 seconds') AS w, count(*) AS n FROM ticks WHERE counter % 2 = 0 GROUP BY w) b
ON a.w = b.w;
"""


def test_an_epoch_that_goes_nowhere_is_not_kept_for_a_second_look(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: DataFrame) -> DataFrame:
        raise AssertionError("persisted")

    monkeypatch.setattr(DataFrame, "persist", refuse)

    outcome, reports = play(spark, RunSpec("nowhere", SQL, tmp_path / "state", max_epoch_rows=20))

    assert outcome == "finished"
    assert sum(report.state_changes for report in reports) > 0
