"""Rows that are merged in the tasks of sources change nothing but the work: rows, figures and state are the same."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.compile import compile_script
from engine.plan.nodes import Partials
from engine.plan.tree import walk
from engine.spark.run.lifecycle import RunSpec
from engine.spark.run.run_spec import PLAIN_SETTINGS
from tests.streams.play import Step, at, play, read_rows, write_script
from tests.streams.test_fused import figures, state_schemas

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = """
CREATE TABLE events (ts TIMESTAMP NOT NULL, key TEXT, number BIGINT, small INT, WATERMARK FOR ts)
WITH (connector = 'scripted', path = '{folder}/script.json');
CREATE TABLE counts (start TIMESTAMP, key TEXT, n BIGINT, numbers BIGINT, total BIGINT, least INT, last TIMESTAMP)
WITH (connector = 'single_file', path = '{folder}/counts.json', format = 'json', type = 'sink');
INSERT INTO counts SELECT window.start, key, n, numbers, total, least, last FROM (
  SELECT {window} AS window, key, count(*) AS n, count(number) AS numbers, sum(small) AS total, min(small) AS least,
         max(ts) AS last, count(*) AS again
  FROM events WHERE number IS NULL OR number % 7 <> 0 GROUP BY window, key
);
"""
WINDOWS = {
    "tumble": "tumble(INTERVAL '10 minutes')",
    "hop": "hop(INTERVAL '10 minutes', INTERVAL '15 minutes')",
}


def steps() -> list[Step]:
    """A partition whose rows fall back by up to 30 minutes in every third step."""
    minutes = [tick * 10 - (30 if tick % 3 == 2 else 0) for tick in range(12)]
    return [
        Step(
            timedelta(minutes=tick),
            {
                "p": [
                    {
                        "ts": at(40 + minute),
                        "key": ("a", "b", None)[part % 3],
                        "number": None if part == 5 else tick + part,
                        "small": None if part % 4 == 1 else part - tick,
                    }
                    for part in range(12)
                ]
            },
        )
        for tick, minute in enumerate(minutes)
    ]


def spec(folder: Path, window: str, *, fuse: bool) -> RunSpec:
    folder.mkdir(exist_ok=True)
    write_script(folder / "script.json", steps())
    sql = SQL.format(folder=folder, window=WINDOWS[window])
    return RunSpec("merged", sql, folder / "state", settings=replace(PLAIN_SETTINGS, max_epoch_rows=12, fuse=fuse))


def is_merged(run: RunSpec) -> bool:
    program = replace(compile_script(run.sql), is_fused=run.settings.fuse)
    return any(isinstance(node, Partials) for branch in program.running_parts.branches for node in walk(branch))


@pytest.mark.parametrize("window", WINDOWS)
def test_merged_rows_give_the_same_rows_figures_and_state(spark: SparkSession, tmp_path: Path, window: str) -> None:
    plain, merged = spec(tmp_path / "plain", window, fuse=False), spec(tmp_path / "merged", window, fuse=True)
    assert (is_merged(plain), is_merged(merged)) == (False, True)

    plain_end, plain_reports = play(spark, plain)
    merged_end, merged_reports = play(spark, merged)

    assert plain_end == merged_end == "finished"
    assert figures(merged_reports) == figures(plain_reports)
    assert sum(report.late_rows for report in plain_reports) > 0
    rows = [sorted(map(str, read_rows(tmp_path / name / "counts.json"))) for name in ("plain", "merged")]
    assert rows[0] == rows[1] != []
    shapes = [sorted(state_schemas(tmp_path / name).values()) for name in ("plain", "merged")]
    assert shapes[0] == shapes[1] != []


def test_a_state_goes_on_whichever_way_it_was_begun(spark: SparkSession, tmp_path: Path) -> None:
    play(spark, spec(tmp_path / "plain", "hop", fuse=False))
    switched = spec(tmp_path / "switched", "hop", fuse=False)

    assert play(spark, switched, stop_after=3)[0] == "stopped"
    assert play(spark, replace(switched, settings=replace(switched.settings, fuse=True)), stop_after=6)[0] == "stopped"
    assert play(spark, switched, stop_after=8)[0] == "stopped"
    assert play(spark, replace(switched, settings=replace(switched.settings, fuse=True)))[0] == "finished"

    rows = [sorted(map(str, read_rows(tmp_path / name / "counts.json"))) for name in ("plain", "switched")]
    assert rows[0] == rows[1] != []
