"""Plans of random edits hold: what they keep goes on, what they refuse is left alone, what they drop begins anew."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.compile import compile_script
from tests.upgrade_fuzz.scripts import Script, random_change, random_script, twins
from tests.upgrade_fuzz.story import Story

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHORT = 25
"""Two branches, one of which keeps its state while the other is reset, and a third one that is new."""
SEEDS = (32, 34, 67)
"""Their stories hold 28 edits, of every kind of branch; in the second one both sinks go on with a copy of a state."""


@pytest.mark.spark
def test_plan_of_one_edit_describes_what_happens(spark: SparkSession, tmp_path: Path) -> None:
    story = Story(spark, tmp_path, SHORT, stops=(1, None))

    story.play()

    assert story.edits == 5


@pytest.mark.spark
@pytest.mark.parametrize("seed", SEEDS)
def test_predictions_of_plans_for_random_edits_are_correct(spark: SparkSession, seed: int, tmp_path: Path) -> None:
    Story(spark, tmp_path, seed).play()


def test_every_script_that_edits_make_is_one_and_all_kinds_and_edits_come_up(tmp_path: Path) -> None:
    seen, parted, meetings = set[str](), set[str](), 0
    for seed in range(45):
        dice = random.Random(seed)
        script = random_script(dice)
        for number in (2, 3, 4):
            compile_script(script.sql(tmp_path))
            change = random_change(script, number, dice)
            seen |= {name.rsplit("_", 1)[0] for name in change.names}
            parted |= {table.split("_")[0] for table in _sinks_that_part(script, change.script)}
            meetings += change.meet
            script = change.script
    edits = ("aggregates of tumble", "front of hop", "behind of session", "size of first", "limit of ranked")
    assert seen >= {*edits, "type", "adds of joined", "new plain", "without totals", "order", "style"}
    assert parted >= {"hop", "ranked", "session", "totals", "first"}
    assert meetings


def _sinks_that_part(before: Script, after: Script) -> set[str]:
    pairs = twins(before.branches, together=True) & twins(after.branches, together=False)
    return {table for pair in pairs for table in pair}
