"""Windows close in the epoch whose offsets move the watermark: of several sources, after a stop, after a kill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.checkpoints.spark_log import numbers
from engine.spark.read.offset_log import read_settled
from engine.spark.run.lifecycle import RunSpec
from engine.spark.run.run_spec import PLAIN_SETTINGS
from tests.streams.play import Step, at, kill_in_epoch, play, read_rows, write_script

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = """
CREATE TABLE quick (ts TIMESTAMP NOT NULL, key TEXT, WATERMARK FOR ts)
WITH (connector = 'scripted', path = '{folder}/quick.json');
CREATE TABLE slow (ts TIMESTAMP NOT NULL, key TEXT, WATERMARK FOR ts)
WITH (connector = 'scripted', path = '{folder}/slow.json');
CREATE TABLE output (ends TIMESTAMP, key TEXT, n BIGINT)
WITH (connector = 'single_file', path = '{folder}/output.json', format = 'json', type = 'sink');
INSERT INTO output SELECT window.end, key, n FROM (
  SELECT {window} AS window, key, count(*) AS n
  FROM (SELECT ts, key FROM quick UNION ALL SELECT ts, key FROM slow) GROUP BY window, key
);
"""
TUMBLE, HOP, SESSION = (
    "tumble(INTERVAL '10 minutes')",
    "hop(INTERVAL '5 minutes', INTERVAL '10 minutes')",
    "session(INTERVAL '6 minutes')",
)
QUICK = [[1, 2], [14, 12], [27, 33], [41], [58, 60]]
SLOW = [[3], [6, 4], [13], [22, 18, 25], [31], [47], [66], [71, 90]]
"""Minutes, by epoch."""


def script(name: str, minutes: Sequence[Sequence[float]]) -> list[Step]:
    return [
        Step(timedelta(minutes=tick), {"p": [{"ts": at(minute), "key": name} for minute in part]})
        for tick, part in enumerate(minutes)
    ]


def spec_of(folder: Path, window: str = TUMBLE) -> RunSpec:
    write_script(folder / "quick.json", script("quick", QUICK))
    write_script(folder / "slow.json", script("slow", SLOW))
    return RunSpec(
        "closing",
        SQL.format(folder=folder, window=window),
        folder / "state",
        settings=replace(PLAIN_SETTINGS, max_epoch_rows=3),
    )


def closed_and_promised(spec: RunSpec) -> Mapping[int, tuple[int | None, int | None]]:
    """Of each epoch, up to where its windows close, and the watermark of its offsets."""
    checkpoint = spec.state_dir / "checkpoint"
    return {
        number: (
            read_settled(checkpoint, number, closes_windows=True).watermark,
            read_settled(checkpoint, number, closes_windows=False).watermark,
        )
        for number in numbers(checkpoint / "offsets")
    }


def answer(folder: Path) -> Counter[tuple[object, ...]]:
    return Counter((row["ends"], row["key"], row["n"]) for row in read_rows(folder / "output.json"))


def tumbling_answer() -> Counter[tuple[object, ...]]:
    ends = Counter(
        (at(minute - minute % 10 + 10).rstrip("Z"), name)
        for name, parts in (("quick", QUICK), ("slow", SLOW))
        for part in parts
        for minute in part
    )
    return Counter({(end, name, n): 1 for (end, name), n in ends.items()})


def test_windows_close_in_the_epoch_whose_offsets_move_the_watermark(spark: SparkSession, tmp_path: Path) -> None:
    spec = spec_of(tmp_path)

    outcome, reports = play(spark, spec)

    epochs = closed_and_promised(spec)
    assert outcome == "finished"
    assert answer(tmp_path) == tumbling_answer()
    assert sum(report.late_rows for report in reports) == 0
    assert len({promised for _, promised in epochs.values()}) > 5, "the watermark has moved"
    assert [closed for number, (closed, _) in epochs.items() if number] == [
        promised for number, (_, promised) in epochs.items() if number
    ]
    assert reports[-1].epoch == max(epochs)
    assert reports[-2].rows_in == 0 or reports[-1].rows_in, "no epoch only closes what the one before has shown"


@pytest.mark.parametrize("window", [TUMBLE, HOP, SESSION])
def test_a_stop_in_between_changes_nothing(spark: SparkSession, tmp_path: Path, window: str) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    for folder in (whole, stopped):
        folder.mkdir()
    spec = spec_of(stopped, window)

    play(spark, spec_of(whole, window))
    play(spark, spec, stop_after=2)
    play(spark, spec, stop_after=3)
    outcome, _ = play(spark, spec)

    assert outcome == "finished"
    assert answer(stopped) == answer(whole)


def test_a_kill_repeats_the_epoch_with_the_same_windows(spark: SparkSession, tmp_path: Path) -> None:
    spec = spec_of(tmp_path)

    kill_in_epoch(spec, 4)
    before = closed_and_promised(spec)
    outcome, _ = play(spark, spec)

    after = closed_and_promised(spec)
    assert outcome == "finished"
    assert before[4][0] is not None
    assert {number: after[number] for number in before} == before
    assert answer(tmp_path) == tumbling_answer()
