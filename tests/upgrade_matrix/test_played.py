"""What plans say of rows of the matrix comes to be. `MATRIX=all`, as `make test-all` has it, plays eight changes,
otherwise the first one is played."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.upgrade_matrix.story import Bundle, play, wish

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUNDLES = (
    Bundle("fewer aggregates", ("an aggregate removed",)),
    Bundle(
        "behind the state",
        (
            "a filter behind the state",
            "another projection behind the state",
            "a new stateless column, in a sink of JSON",
            "another independent branch",
        ),
    ),
    Bundle("more aggregates", ("a new aggregate",)),
    Bundle("sinks that part", ("another projection for one of two sinks",)),
    Bundle("an aggregate more for one of two sinks", ("a new aggregate for one of two sinks",)),
    Bundle("wider types", ("a type of a source widened",)),
    Bundle("a filter in front", ("a filter in front, with --keep-state",)),
    Bundle("other keys", ("other keys, with --reset",)),
)
PLAYED = BUNDLES if os.environ.get("MATRIX") == "all" else BUNDLES[:1]


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda bundle: bundle.name)
def test_a_plan_of_many_branches_says_of_each_what_it_says_of_it_alone(bundle: Bundle, tmp_path: Path) -> None:
    assert wish(tmp_path, bundle)


@pytest.mark.spark
@pytest.mark.parametrize("bundle", PLAYED, ids=lambda bundle: bundle.name)
def test_predictions_of_a_plan_about_rows_are_correct(spark: SparkSession, bundle: Bundle, tmp_path: Path) -> None:
    play(spark, tmp_path, bundle)
