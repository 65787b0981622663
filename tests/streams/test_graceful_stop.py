"""A graceful stop: sources stop, and what they have given becomes output as far as its watermark lets it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from tests.streams.play import Step, at, play
from tests.streams.test_watermarks import answer, batch_answer, spec_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STEPS = [
    Step(timedelta(minutes=minutes), {"p": [{"ts": at(minutes), "key": f"at {minutes}"}]})
    for minutes in range(1, 400, 20)
]


def test_graceful_stop_outputs_all_rows_read_and_reads_no_more(spark: SparkSession, tmp_path: Path) -> None:
    spec = spec_of(tmp_path, STEPS)

    outcome, reports = play(spark, spec, stop_after=1, mode="graceful")

    assert outcome == "stopped"
    # an epoch that was planned already is still read
    read = sum(report.rows_in for report in reports)
    assert 2 <= read < 6
    # only the window of the last row is open: no row has shown that it is over
    assert answer(tmp_path) == batch_answer(STEPS[: read - 1])

    outcome, _ = play(spark, spec)
    assert outcome == "finished"
    assert answer(tmp_path) == batch_answer(STEPS)


def test_epochs_that_come_once_an_hour_keep_no_drain_waiting(spark: SparkSession, tmp_path: Path) -> None:
    spec = spec_of(tmp_path, STEPS)
    _, first_reports = play(spark, spec, stop_after=0)

    outcome, reports = play(spark, replace(spec, epoch_interval=timedelta(hours=1)), stop_after=0, mode="graceful")

    assert outcome == "stopped"
    read = sum(report.rows_in for report in (*first_reports, *reports))
    assert read >= 2
    assert answer(tmp_path) == batch_answer(STEPS[: read - 1])

    play(spark, spec)
    assert answer(tmp_path) == batch_answer(STEPS)


def test_a_rest_of_an_hour_keeps_no_stop_waiting(spark: SparkSession, tmp_path: Path) -> None:
    spec = spec_of(tmp_path, STEPS)
    resting = replace(spec, settings=replace(spec.settings, linger=timedelta(hours=1)))

    outcome, first_reports = play(spark, resting, stop_after=0)
    assert (outcome, len(first_reports)) == ("stopped", 1)

    outcome, reports = play(spark, resting, stop_after=1, mode="graceful")
    assert outcome == "stopped"
    read = sum(report.rows_in for report in (*first_reports, *reports))
    assert read >= 2
    assert answer(tmp_path) == batch_answer(STEPS[: read - 1])

    play(spark, spec)
    assert answer(tmp_path) == batch_answer(STEPS)
