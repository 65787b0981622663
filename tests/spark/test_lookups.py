"""Lookup tables that change while a job runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.errors import DuplicateKeyError
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.spark.run.stop_control import Control
from engine.values.epoch_report import EpochReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = """
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT)
WITH (connector = 'single_file', path = '{folder}/in.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TEMPORARY TABLE names (id TEXT PRIMARY KEY, name TEXT)
WITH (connector = 'filesystem', path = '{folder}/names.csv', format = 'csv');
CREATE TABLE out WITH (connector = 'single_file', path = '{folder}/out.json', format = 'json', type = 'sink');
INSERT INTO out SELECT value, name FROM events LEFT JOIN names ON key = names.id;
"""
ROWS = 40


def put(path: Path, text: str) -> None:
    """Replace a file as a whole."""
    draft = path.with_name("_draft")
    draft.write_text(text)
    draft.replace(path)


def start(folder: Path) -> RunSpec:
    rows = [{"at": "2024-01-01T00:00:00Z", "key": "a", "value": number} for number in range(ROWS)]
    (folder / "in.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    put(folder / "names.csv", "id,name\na,old\n")
    return RunSpec(
        "lookups", SQL.format(folder=folder), folder / "state", settings=replace(PLAIN_SETTINGS, max_epoch_rows=1)
    )


def test_rows_find_what_the_table_says_when_they_pass(spark: SparkSession, tmp_path: Path) -> None:
    def change(report: EpochReport) -> None:
        if report.epoch == 2:
            put(tmp_path / "names.csv", "id,name\na,renewed\n")

    assert run_in(spark, start(tmp_path), Control(), change) == "finished"

    rows = [json.loads(line) for line in (tmp_path / "out.json").read_text().splitlines()]
    names = [row["name"] for row in rows]
    assert [row["value"] for row in rows] == list(range(ROWS))
    assert names[:3] == ["old"] * 3
    assert names[-1] == "renewed"
    assert names == sorted(names)


def test_a_table_that_is_spoilt_stops_the_job(spark: SparkSession, tmp_path: Path) -> None:
    def spoil(report: EpochReport) -> None:
        put(tmp_path / "names.csv", "id,name\na,one\na,two\n")

    with pytest.raises(DuplicateKeyError, match="two rows with id = 'a'"):
        run_in(spark, start(tmp_path), Control(), spoil)
