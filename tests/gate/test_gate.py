"""The gate at random moments: no row is missing before `complete_until`, and it is as near as it must be."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.gate.judge import faults
from tests.gate.plays import STEPS, play_random
from tests.gate.shapes import PIPELINES, SHAPES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOMENTS = int(os.environ.get("GATE_MOMENTS", "12"))
"""At how many moments each shape is looked at, at least."""


def test_there_are_twelve_shapes() -> None:
    shapes = "tumble hop session nested joined over top_n updating stateless two_sources idle late too_late"
    assert set(SHAPES) == set(shapes.split())


@pytest.mark.timeout(1200 + 20 * MOMENTS)
@pytest.mark.parametrize("name", PIPELINES)
def test_at_random_moments_readers_find_what_is_promised(spark: SparkSession, tmp_path: Path, name: str) -> None:
    count = seed = 0
    while count < MOMENTS:
        seed += 1
        play = play_random(spark, PIPELINES[name], tmp_path / str(seed), seed, min(MOMENTS, STEPS))
        count += len(play.promises)
        assert faults(play) == []
