from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from benchmarks.state import rescale, savepoint
from benchmarks.state.__main__ import is_reached
from benchmarks.state.measured import Measured, read_measured
from benchmarks.state.page import PAGE, WORDS, page
from benchmarks.state.pause import pause
from benchmarks.state.savepoint import Savepoint, Stretch, figures, under

EPOCHS = [Stretch(12.0, 12.9), Stretch(13.1, 13.9), Stretch(14.2, 15.0)]


def measured(**cases: float) -> Measured:
    named = {shape: {"largest under a savepoint": ratio} for shape, ratio in cases.items()}
    return Measured("savepoint", "2024-01-01", "abc", {"cores": "2"}, (1, 2, 3), {"keys": 5}, named)


@pytest.mark.parametrize(
    ("begin", "end", "epochs"),
    [(12.8, 13.0, EPOCHS[:2]), (12.8, 13.2, EPOCHS), (12.95, 13.0, EPOCHS[1:2]), (15.1, 15.2, [])],
)
def test_a_savepoint_lies_over_what_it_meets_and_the_epoch_after_it(
    begin: float, end: float, epochs: list[Stretch]
) -> None:
    assert under(EPOCHS, Stretch(begin, end)) == epochs


def test_the_largest_epoch_under_a_savepoint_is_told_by_the_median_of_all() -> None:
    epochs = [Stretch(0, 1), Stretch(1, 2), Stretch(2, 3), Stretch(3, 3.5), Stretch(4, 7), Stretch(7, 8)]

    shown = figures(epochs, [Savepoint(Stretch(3.1, 3.2), 0.1, 5.0)], rows=700)

    assert (shown["largest under a savepoint"], shown["largest of the others"]) == (3, 1)
    assert (shown["epochs under a savepoint"], shown["rows per second"]) == (2, 100)


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    run = measured(updating=1.5)
    run.save(tmp_path)

    assert read_measured("savepoint", tmp_path)[0].cases == run.cases
    assert read_measured("rescale", tmp_path) == []


def test_an_epoch_of_twice_the_median_misses_the_goal() -> None:
    assert is_reached(measured(updating=1.9, tumble=1.2))
    assert not is_reached(measured(updating=1.9, tumble=2.0))


def test_a_pause_is_the_longest_time_between_commits_after_the_request() -> None:
    commits = [datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC) for second in (0, 9, 11, 17, 18)]

    assert pause(commits, asked=commits[1] + timedelta(seconds=1)) == 6
    assert pause(commits[::-1], asked=commits[0]) == 9


def test_the_page_is_of_what_was_measured() -> None:
    assert PAGE.read_text() == page(WORDS.read_text()), "run: python -m benchmarks.state.page"


def test_the_page_says_what_was_missed_and_that_there_are_no_runs(tmp_path: Path) -> None:
    assert page("{{pause}}", tmp_path) == "No run is kept yet."
    measured(updating=1.5, tumble=2.5).save(tmp_path)

    text = page("{{savepoint}}", tmp_path)

    assert "|  | updating | tumble |" in text
    assert "| largest under a savepoint | **1.5** | 2.5, missed |" in text


def test_savepoints_are_measured_beside_a_run(spark: SparkSession, tmp_path: Path) -> None:
    load = savepoint.Load(rate=500, keys=100, savepoints=2, apart=2)

    shown = savepoint.play_in(spark, tmp_path / "state", "updating", load)

    assert (shown["savepoints"], shown["epochs under a savepoint"] >= 2) == (2, True)
    assert shown["savepoint MB"] > 0


def test_a_rescale_is_measured_beside_a_copy(spark: SparkSession, tmp_path: Path) -> None:
    size = rescale.Size(megabytes=0, before=1, after=2)

    shown = rescale.play_in(lambda tasks, is_short: nullcontext(spark), tmp_path, "tumble", size)

    assert shown["keys"] == 1_000
    assert shown["state MB"] > 0
