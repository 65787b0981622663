"""What is left out in the tasks of the sources changes nothing but the work: rows, figures and state are the same."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from engine.checkpoints.layout import StatePaths
from engine.spark.run.lifecycle import RunSpec
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.values.epoch_report import EpochReport
from tests.streams.play import Step, at, kill_in_epoch, play, read_rows, write_script

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = """
CREATE TABLE events (ts TIMESTAMP NOT NULL, key TEXT, number BIGINT, WATERMARK FOR ts)
WITH (connector = 'scripted', path = '{folder}/script.json');
CREATE TABLE lines (ts TIMESTAMP NOT NULL, key TEXT, number BIGINT)
WITH (connector = 'single_file', path = '{folder}/lines', format = 'json', type = 'source', event_time_field = 'ts',
      bad_data = 'dead_letter', 'dead_letter.path' = '{folder}/letters');
CREATE TABLE counts (start TIMESTAMP, key TEXT, n BIGINT, total BIGINT)
WITH (connector = 'single_file', path = '{folder}/counts.json', format = 'json', type = 'sink');
CREATE TABLE chosen (key TEXT, more BIGINT)
WITH (connector = 'single_file', path = '{folder}/chosen.json', format = 'json', type = 'sink');
INSERT INTO counts SELECT window.start, key, n, total FROM (
  SELECT tumble(INTERVAL '10 minutes') AS window, key, count(*) AS n, sum(number) AS total
  FROM events WHERE number % 3 <> 0 AND key <> 'c' GROUP BY window, key
);
INSERT INTO chosen SELECT upper(key) AS key, number + 1 AS more FROM lines WHERE number > 5 OR key IS NULL;
"""


def steps() -> list[Step]:
    """A partition whose rows fall back by up to 30 minutes in every third step; no row of the fifth is wanted."""
    minutes = [tick * 10 - (30 if tick % 3 == 2 else 0) for tick in range(12)]
    return [
        Step(
            timedelta(minutes=tick),
            {
                "p": [
                    {"ts": at(40 + minute), "key": "abc"[part % 3], "number": 3 if tick == 5 else tick + part}
                    for part in range(9)
                ]
            },
        )
        for tick, minute in enumerate(minutes)
    ]


def spec(folder: Path, *, fuse: bool) -> RunSpec:
    folder.mkdir(exist_ok=True)
    write_script(folder / "script.json", steps())
    lines = [json.dumps({"ts": at(n), "key": None if n % 7 == 0 else "k", "number": n}) for n in range(40)]
    (folder / "lines").write_text("\n".join([*lines[:9], "no json", *lines[9:]]) + "\n")
    return RunSpec(
        "events",
        SQL.format(folder=folder),
        folder / "state",
        settings=replace(PLAIN_SETTINGS, max_epoch_rows=10, fuse=fuse),
    )


def figures(reports: Sequence[EpochReport]) -> list[object]:
    """What is told of the epochs, but for times and sizes."""
    return [
        (
            report.epoch,
            report.rows_in,
            report.rows_out,
            report.watermark,
            report.source_watermarks,
            report.late_rows,
            report.dropped_rows,
            report.state_changes,
            {name: replace(table, rows_waiting=None, busy=None) for name, table in report.tables.items()},
        )
        for report in reports
    ]


def written(folder: Path) -> list[Counter[str]]:
    """All that is there afterwards: rows of both sinks, and dead letters."""
    rows = [read_rows(folder / f"{name}.json") for name in ("counts", "chosen")]
    letters = [json.loads(line) for path in (folder / "letters").iterdir() for line in path.read_text().splitlines()]
    return [Counter(json.dumps(row, sort_keys=True) for row in part) for part in (*rows, letters)]


def state_schemas(folder: Path) -> dict[str, bytes]:
    """What Spark says its state looks like, by the place within the checkpoint."""
    state = StatePaths(folder / "state").checkpoint / "state"
    paths = [path for path in state.rglob("_metadata/**/*") if path.is_file() and not path.name.startswith(".")]
    return {str(path.relative_to(state)): path.read_bytes() for path in paths if "schema" in str(path)}


def test_rows_figures_and_the_shape_of_the_state_are_the_same(spark: SparkSession, tmp_path: Path) -> None:
    plain, plain_reports = play(spark, spec(tmp_path / "plain", fuse=False))
    fused, fused_reports = play(spark, spec(tmp_path / "fused", fuse=True))

    assert plain == fused == "finished"
    assert figures(fused_reports) == figures(plain_reports)
    assert sum(report.late_rows for report in plain_reports) > 0
    assert plain_reports[-1].dropped_rows == 1
    assert [sum(rows.values()) > 0 for rows in written(tmp_path / "plain")] == [True, True, True]
    plain_rows, fused_rows = written(tmp_path / "plain"), written(tmp_path / "fused")
    assert fused_rows[:2] == plain_rows[:2]
    assert fused_rows[2].total() == plain_rows[2].total() == 1
    assert len(state_schemas(tmp_path / "plain").keys()) > 0
    assert state_schemas(tmp_path / "fused").keys() == state_schemas(tmp_path / "plain").keys()


def test_a_run_goes_on_with_the_state_of_one_that_was_run_the_other_way(spark: SparkSession, tmp_path: Path) -> None:
    play(spark, spec(tmp_path / "plain", fuse=False))
    switched = spec(tmp_path / "switched", fuse=False)

    assert play(spark, switched, stop_after=3)[0] == "stopped"
    assert play(spark, replace(switched, settings=replace(switched.settings, fuse=True)), stop_after=6)[0] == "stopped"
    assert play(spark, switched, stop_after=8)[0] == "stopped"
    assert play(spark, replace(switched, settings=replace(switched.settings, fuse=True)))[0] == "finished"

    assert written(tmp_path / "switched")[:2] == written(tmp_path / "plain")[:2]


LINES = """
CREATE TABLE lines (ts TIMESTAMP NOT NULL, key TEXT, number BIGINT)
WITH (connector = 'filesystem', path = '{folder}/input', format = 'json', type = 'source', event_time_field = 'ts',
      bad_data = 'dead_letter', 'dead_letter.path' = '{folder}/letters');
CREATE TABLE counts (key TEXT, at TIMESTAMP, half DOUBLE)
WITH (connector = 'single_file', path = '{folder}/counts.json', format = 'json', type = 'sink');
INSERT INTO counts SELECT key, ts AS at, number * 0.5 AS half FROM lines WHERE number % 7 <> 3 OR key IS NULL;
"""


def stateless(folder: Path, *, fuse: bool) -> RunSpec:
    (folder / "input").mkdir(parents=True, exist_ok=True)
    for file in range(3):
        lines = [json.dumps({"ts": at(n), "key": None if n % 5 == 0 else "k", "number": n}) for n in range(50)]
        (folder / "input" / f"{file}.json").write_text("\n".join([*lines[:9], "no json", *lines[9:]]) + "\n")
    (folder / "chosen.json").touch()
    state = folder / "state"
    return RunSpec(
        "lines",
        LINES.format(folder=folder),
        state,
        parallelism=2,
        settings=replace(PLAIN_SETTINGS, max_epoch_rows=30, fuse=fuse),
    )


def test_tasks_that_do_all_of_a_plan_write_the_same_also_across_a_kill(spark: SparkSession, tmp_path: Path) -> None:
    plain, whole, killed = (tmp_path / name for name in ("plain", "whole", "killed"))
    outcome, plain_reports = play(spark, stateless(plain, fuse=False))
    whole_outcome, whole_reports = play(spark, stateless(whole, fuse=True))

    assert outcome == whole_outcome == "finished"
    assert figures(whole_reports) == figures(plain_reports)
    assert written(whole)[0] == written(plain)[0]
    assert written(plain)[0].total() == 3 * (50 - 5)
    assert written(whole)[2].total() == written(plain)[2].total() == 3

    kill_in_epoch(stateless(killed, fuse=True), 1)
    assert play(spark, stateless(killed, fuse=False), stop_after=2)[0] == "stopped"
    assert play(spark, stateless(killed, fuse=True))[0] == "finished"
    assert written(killed)[0] == written(plain)[0]
    assert written(killed)[2].total() == 3
