"""Windows that are kept by pane give the same rows as Spark's own, at the same time, and leave out the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.checkpoints.forms import read_form, read_panes
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.rescale import repartition
from engine.checkpoints.restore import restore
from engine.checkpoints.savepoints import take
from engine.compile import compile_script
from engine.plan.state.panes import fit_for_panes
from engine.spark.run.lifecycle import RunSpec
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.values.epoch_report import EpochReport
from engine.values.instants import now
from tests.streams.play import at, kill_in_epoch, play, read_rows, wider
from tests.streams.test_fused import figures
from tests.streams.test_merged_rows import WINDOWS, spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession


def of_hops(folder: Path, *, fuse: bool) -> RunSpec:
    """Windows of which three overlap, whose panes are half as long as what is between them."""
    run = spec(folder, "hop", fuse=fuse)
    sql = run.sql.replace(WINDOWS["hop"], "hop(INTERVAL '4 minutes', INTERVAL '14 minutes')")
    return replace(run, sql=sql, settings=replace(run.settings, by_pane=False))


def in_panes(folder: Path, *, fuse: bool) -> RunSpec:
    run = of_hops(folder, fuse=fuse)
    return replace(run, settings=replace(run.settings, by_pane=True))


def rows_of(folder: Path) -> list[str]:
    return sorted(map(str, read_rows(folder / "counts.json")))


def told(reports: Sequence[EpochReport]) -> list[object]:
    """What is told of the epochs, but for what is changed in the state."""
    return [row[:7] + row[8:] for row in figures(reports) if isinstance(row, tuple)]


def kept_as(folder: Path) -> str:
    return read_form(StatePaths(folder / "state").checkpoint, 0).name


@pytest.mark.parametrize("fuse", [True, False])
def test_rows_and_figures_of_each_epoch_are_those_of_sparks_windows(
    spark: SparkSession, tmp_path: Path, fuse: bool
) -> None:
    plain_end, plain_reports = play(spark, of_hops(tmp_path / "plain", fuse=fuse))
    panes_end, panes_reports = play(spark, in_panes(tmp_path / "panes", fuse=fuse))

    assert plain_end == panes_end == "finished"
    assert kept_as(tmp_path / "plain") == "stateStoreSave"
    assert kept_as(tmp_path / "panes").startswith("transformWithState")
    assert rows_of(tmp_path / "panes") == rows_of(tmp_path / "plain") != []
    assert told(panes_reports) == told(plain_reports)
    assert sum(report.late_rows for report in plain_reports) > 0


FILES = """
CREATE TABLE rows (ts TIMESTAMP NOT NULL, WATERMARK FOR ts)
WITH (connector = 'filesystem', path = '{folder}/rows', format = 'json', type = 'source');
CREATE TABLE counts WITH (connector = 'single_file', path = '{folder}/counts.json', format = 'json', type = 'sink');
INSERT INTO counts SELECT count(*) AS n FROM rows GROUP BY hop(INTERVAL '4 minutes', INTERVAL '14 minutes');
"""


@pytest.mark.parametrize(("most_rows", "name"), [(12, "stateStoreSave"), (20_000, "transformWithState")])
def test_files_that_are_all_there_are_kept_in_panes_where_nobody_says_otherwise_and_epochs_are_large(
    spark: SparkSession, tmp_path: Path, most_rows: int, name: str
) -> None:
    folder = tmp_path / "rows"
    folder.mkdir()
    (folder / "rows.json").write_text("".join(f'{{"ts": "{at(minute)}"}}\n' for minute in range(20)))
    run = RunSpec(
        "counts",
        FILES.format(folder=tmp_path),
        tmp_path / "state",
        settings=replace(PLAIN_SETTINGS, max_epoch_rows=most_rows, by_pane=None),
    )

    assert play(spark, run)[0] == "finished"

    assert kept_as(tmp_path).startswith(name)
    assert sum(int(str(row["n"])) for row in read_rows(tmp_path / "counts.json")) == 70


def test_panes_go_on_through_stops_a_kill_other_widths_and_a_savepoint(spark: SparkSession, tmp_path: Path) -> None:
    play(spark, of_hops(tmp_path / "plain", fuse=False))
    run = in_panes(tmp_path / "panes", fuse=True)

    assert play(spark, run, stop_after=2)[0] == "stopped"
    # what a state is kept as is not a matter of the setting any more
    repartition(run.state_dir, 3, lambda: spark)
    assert (
        play(
            spark,
            replace(wider(run, 3), settings=replace(wider(run, 3).settings, by_pane=False, fuse=False)),
            stop_after=4,
        )[0]
        == "stopped"
    )
    take(run.state_dir, "sp", label=None, clock=now)
    kill_in_epoch(wider(run, 3), 6)
    assert play(spark, wider(run, 3), stop_after=8)[0] == "stopped"
    restore(StatePaths(run.state_dir).savepoints / "sp", run.state_dir, allow_replay=True)
    repartition(run.state_dir, 2, lambda: spark)
    assert play(spark, wider(run, 2))[0] == "finished"

    assert read_panes(StatePaths(run.state_dir).checkpoint) == {0}
    assert rows_of(tmp_path / "panes") == rows_of(tmp_path / "plain") != []


def test_a_state_that_spark_keeps_stays_so(spark: SparkSession, tmp_path: Path) -> None:
    play(spark, of_hops(tmp_path / "plain", fuse=True))
    run = of_hops(tmp_path / "old", fuse=True)
    assert play(spark, run, stop_after=3)[0] == "stopped"

    assert play(spark, replace(run, settings=replace(run.settings, by_pane=True)))[0] == "finished"

    assert kept_as(tmp_path / "old") == "stateStoreSave"
    assert rows_of(tmp_path / "old") == rows_of(tmp_path / "plain")


TABLES = """
CREATE TABLE events (ts TIMESTAMP NOT NULL, key TEXT, number BIGINT, small INT, d DOUBLE, WATERMARK FOR ts)
WITH (connector = 'single_file', path = '/events', format = 'json', type = 'source');
CREATE TABLE out WITH (connector = 'blackhole');
INSERT INTO out
"""
HOP = "hop(INTERVAL '1 minute', INTERVAL '5 minutes')"


@pytest.mark.unit
@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        (f"SELECT {HOP} AS w, key, count(*), sum(small), min(ts), max(key) FROM events GROUP BY 1, 2", {0}),
        (f"SELECT {HOP} AS w, count(number) FROM events GROUP BY 1", {0}),
        (f"SELECT {HOP} AS w, d, count(*) FROM events GROUP BY 1, 2", set()),
        (f"SELECT {HOP} AS w, sum(d) FROM events GROUP BY 1", set()),
        (f"SELECT {HOP} AS w, avg(number) FROM events GROUP BY 1", set()),
        (f"SELECT {HOP} AS w, count(*) FILTER (WHERE number > 1) FROM events GROUP BY 1", set()),
        (f"SELECT {HOP} AS w, array_agg(number) FROM events GROUP BY 1", set()),
        ("SELECT session(INTERVAL '1 minute') AS w, count(*) FROM events GROUP BY 1", set()),
        ("SELECT hop(INTERVAL '1 second', INTERVAL '1 hour') AS w, count(*) FROM events GROUP BY 1", set()),
        ("SELECT tumble(INTERVAL '1 minute') AS w, count(*) FROM events GROUP BY 1", set()),
        ("SELECT hop(INTERVAL '2 minutes', INTERVAL '5 minutes') AS w, count(*) FROM events GROUP BY 1", set()),
    ],
)
def test_only_what_is_added_up_exactly_is_kept_by_pane(query: str, numbers: set[int]) -> None:
    assert fit_for_panes(compile_script(TABLES + query).operators) == numbers
