"""The golden cases, each run in three ways that must all agree with the golden file."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.checkpoints.rescale import repartition
from tests.golden.case import CASES, is_golden, spec
from tests.joined import Joined, played, run_to_end
from tests.streams.play import play

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOGETHER = [CASES[first::4] for first in range(4)]
"""Cases that are killed with one process: to start a JVM costs more than to run a case."""


@pytest.fixture(scope="module")
def straight_through(
    spark: SparkSession, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Joined:
    """The cases that are played, from their start to their end."""
    scripts = {case: partial(spec, case) for case in played(request, test_straight_through)}
    return Joined(scripts, partial(run_to_end, spark), tmp_path_factory.mktemp("golden"))


@pytest.mark.parametrize("case", CASES)
def test_straight_through(straight_through: Joined, case: str) -> None:
    assert is_golden(case, straight_through.folder_of(case))


@pytest.mark.parametrize("case", CASES)
def test_stopped_and_restored_and_once_more_at_another_parallelism(
    spark: SparkSession, case: str, tmp_path: Path
) -> None:
    narrow, wide = (spec(case, tmp_path, in_epochs=True, parallelism=width) for width in (1, 2))

    assert play(spark, narrow, stop_after=1)[0] == "stopped"
    assert play(spark, narrow, stop_after=3)[0] == "stopped"
    assert not is_golden(case, tmp_path)
    repartition(narrow.state_dir, 2, lambda: spark)
    outcome, reports = play(spark, wide)

    assert outcome == "finished"
    assert reports[-1].epoch >= 4, "five epochs and more, some of them after one that the same run has taken"
    assert is_golden(case, tmp_path)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("cases", TOGETHER, ids=" and ".join)
def test_killed_half_way_and_restored(spark: SparkSession, cases: list[str], tmp_path: Path) -> None:
    kill_in_epoch(3, cases, tmp_path)

    for case in cases:
        assert not is_golden(case, tmp_path / case), case
        assert play(spark, spec(case, tmp_path / case, in_epochs=True))[0] == "finished", case

    assert [case for case in cases if not is_golden(case, tmp_path / case)] == []


def kill_in_epoch(epoch: int, cases: list[str], folder: Path) -> None:
    """Run the cases in a process of their own, which is killed with its JVM while their sinks take an epoch."""
    for case in cases:
        (folder / case).mkdir()
    command = [sys.executable, "-m", "tests.golden.dying", str(folder), str(epoch), *cases]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert ended.returncode == -9, ended.stderr
