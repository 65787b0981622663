"""What plans say of rows of the matrix comes to be: first those of an aggregate less."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.upgrade_matrix.story import Bundle, play, wish

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUNDLES = (Bundle("fewer aggregates", ("an aggregate removed",)),)


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda bundle: bundle.name)
def test_a_plan_of_many_branches_says_of_each_what_it_says_of_it_alone(bundle: Bundle, tmp_path: Path) -> None:
    assert wish(tmp_path, bundle)


@pytest.mark.spark
@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda bundle: bundle.name)
def test_what_the_plan_says_of_rows_comes_to_be(spark: SparkSession, bundle: Bundle, tmp_path: Path) -> None:
    play(spark, tmp_path, bundle)
