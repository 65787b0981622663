"""The golden cases with the state of their operators in a bucket: joins, sessions, updating aggregates and Python state
give the same output as on a disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.checkpoints.rescale import repartition
from engine.spark.run.run_spec import RunSpec
from engine.values.cluster import ClusterSettings
from tests.golden.case import CASES, is_golden, spec
from tests.joined import Joined, run_to_end
from tests.s3.store import Store
from tests.streams.play import play

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHORT = ("updating_inner_join", "session_window")
"""Those that every run plays: a join of changelog rows, whose state is Python's, and sessions."""


def in_bucket(spec: RunSpec, bucket: Store) -> RunSpec:
    cluster = ClusterSettings(state_url=f"s3://{bucket.bucket}/{spec.name}")
    return replace(spec, settings=replace(spec.settings, cluster=cluster))


def local_state(state_dir: Path) -> list[Path]:
    return [path for path in (state_dir / "checkpoint" / "state").rglob("*") if path.is_file()]


@pytest.mark.timeout(1800)
def test_all_of_them_straight_through(spark: SparkSession, bucket: Store, tmp_path: Path) -> None:
    def of(case: str) -> Callable[[Path], RunSpec]:
        return lambda folder: in_bucket(spec(case, folder), bucket)

    joined = Joined({case: of(case) for case in CASES}, partial(run_to_end, spark), tmp_path)

    assert [case for case in CASES if not is_golden(case, joined.folder_of(case))] == []
    assert local_state(tmp_path) == []


@pytest.mark.parametrize("case", SHORT)
def test_two_of_them_stopped_and_restored(spark: SparkSession, bucket: Store, case: str, tmp_path: Path) -> None:
    stopped_and_restored(spark, bucket, case, tmp_path)


@pytest.mark.parametrize("case", [case for case in CASES if case not in SHORT])
def test_the_others_stopped_and_restored(spark: SparkSession, bucket: Store, case: str, tmp_path: Path) -> None:
    stopped_and_restored(spark, bucket, case, tmp_path)


def stopped_and_restored(spark: SparkSession, bucket: Store, case: str, folder: Path) -> None:
    """Run a case in a bucket, with a stop and another parallelism in between."""
    narrow, wide = (in_bucket(spec(case, folder, in_epochs=True, parallelism=width), bucket) for width in (1, 2))

    assert play(spark, narrow, stop_after=1)[0] == "stopped"
    assert play(spark, narrow, stop_after=3)[0] == "stopped"
    assert not is_golden(case, folder)
    assert local_state(narrow.state_dir) == []
    repartition(narrow.state_dir, 2, lambda: spark)

    assert play(spark, wide)[0] == "finished"
    assert is_golden(case, folder)
    assert local_state(wide.state_dir) == []
