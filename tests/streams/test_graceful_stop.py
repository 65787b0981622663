"""A graceful stop: sources stop, and what they have given becomes output as far as its watermark lets it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from tests.streams.play import Step, at, play
from tests.streams.test_watermarks import answer, batch_answer, spec_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STEPS = [
    Step(timedelta(minutes=minutes), {"p": [{"ts": at(minutes), "key": key}]})
    for minutes, key in ((1, "a"), (25, "b"), (41, "unread"), (61, "last"))
]


def test_what_was_read_is_in_the_output_and_nothing_more_is_read(spark: SparkSession, tmp_path: Path) -> None:
    spec = spec_of(tmp_path, STEPS)

    outcome, reports = play(spark, spec, stop_after=1, mode="graceful")

    assert outcome == "stopped"
    assert sum(report.rows_in for report in reports) == 2
    # the window of b is open: no row has shown that it is over
    assert answer(tmp_path) == {("2024-01-01T00:00:00", "a", 1): 1}

    outcome, _ = play(spark, spec)
    assert outcome == "finished"
    assert answer(tmp_path) == batch_answer(STEPS)


def test_a_stop_with_a_checkpoint_leaves_it_to_the_next_start(spark: SparkSession, tmp_path: Path) -> None:
    spec = spec_of(tmp_path, STEPS)

    play(spark, spec, stop_after=1)

    assert answer(tmp_path) == {}
