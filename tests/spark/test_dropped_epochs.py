"""Rows that no sink wants are computed as for any other sink, and kept for a second look only if there is one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.classic.dataframe import DataFrame

from engine.errors import EngineError
from engine.spark.run.lifecycle import RunSpec
from engine.spark.run.run_spec import PLAIN_SETTINGS
from tests.streams.play import play

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TICKS = """
CREATE TABLE ticks WITH (
  connector = 'impulse', event_rate = '1000', message_count = '40', event_time_interval = '1 second',
  start_time = '2024-01-01T00:00:00Z'
);
CREATE TABLE nowhere WITH (connector = 'blackhole');
"""
COUNTED = "SELECT tumble(INTERVAL '10 seconds') AS w, count(*) AS n FROM ticks GROUP BY w"
JOINED = f"FROM ({COUNTED}) a JOIN ({COUNTED}) b ON a.w = b.w"
TWICE = """
CREATE TABLE also_nowhere WITH (connector = 'blackhole');
INSERT INTO nowhere SELECT tumble(INTERVAL '10 seconds') AS w, count(*) AS n FROM ticks GROUP BY w;
INSERT INTO also_nowhere SELECT tumble(INTERVAL '5 seconds') AS w, count(*) AS n FROM ticks GROUP BY w;
"""


def test_windows_that_go_nowhere_as_they_are_are_not_kept_for_a_second_look(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: DataFrame) -> DataFrame:
        raise AssertionError("persisted")

    monkeypatch.setattr(DataFrame, "persist", refuse)

    outcome, reports = play(
        spark,
        RunSpec("nowhere", TICKS + TWICE, tmp_path / "state", settings=replace(PLAIN_SETTINGS, max_epoch_rows=20)),
    )

    assert outcome == "finished"
    assert sum(report.state_changes for report in reports) > 0


def test_join_without_a_sink_is_computed(spark: SparkSession, tmp_path: Path) -> None:
    sql = f"{TICKS} INSERT INTO nowhere SELECT a.n / (b.n - 10) AS n {JOINED};"

    with pytest.raises(EngineError, match="zero"):
        play(spark, RunSpec("divided", sql, tmp_path / "state", settings=replace(PLAIN_SETTINGS, max_epoch_rows=20)))


def test_what_is_joined_only_to_go_nowhere_is_joined_beside_a_sink_as_well(spark: SparkSession, tmp_path: Path) -> None:
    options = f"connector = 'single_file', path = '{tmp_path / 'rows.json'}', format = 'json', type = 'sink'"
    file = f"CREATE TABLE file WITH ({options});"
    sql = f"{TICKS} {file} INSERT INTO file {COUNTED}; INSERT INTO nowhere SELECT a.n / (b.n - 10) AS n {JOINED};"

    with pytest.raises(EngineError, match="zero"):
        play(spark, RunSpec("beside", sql, tmp_path / "state", settings=replace(PLAIN_SETTINGS, max_epoch_rows=20)))
