"""Random queries give the batch answer, and would not if something were broken."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812 - everybody calls it F

from engine.plan.nodes import UpdatingAggregate
from engine.plan.tree import RETRACT, WATERMARK
from engine.spark import lower
from engine.spark.lower import joins
from engine.spark.lower.rows import open_table
from engine.spark.lower.updating import lower_updating_aggregate
from engine.spark.run import stream
from engine.udf.declared import Udfs
from tests.fuzz.plays import compile_little, failures, random_case
from tests.fuzz.shapes import Shape, grouped, joining, windowed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SEEDS = range(30030, 30056)
"""Their cases hold about fifty queries."""


@pytest.fixture
def little(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, set for small cases and given back as it was."""
    names = ("spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode")
    before = {name: str(spark.conf.get(name)) for name in names}
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_queries_give_the_batch_answer(little: SparkSession, seed: int, tmp_path: Path) -> None:
    compile_little(little, seed)

    assert failures(little, random_case(seed), tmp_path) == []


PLANTED: dict[str, tuple[int, Shape]] = {
    "window": (203, windowed),
    "null": (1707, joining),
    "retraction": (240, grouped),
}
"""The cases by which planted bugs are found."""


@pytest.mark.parametrize("name", PLANTED)
def test_without_a_planted_bug_nothing_is_found(little: SparkSession, name: str, tmp_path: Path) -> None:
    assert _found(little, name, tmp_path) == []


def test_a_window_that_closes_too_early_is_found(
    little: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hasty(raw: DataFrame) -> DataFrame:
        moved = f"CASE WHEN {WATERMARK} < '9000-01-01' THEN {WATERMARK} + INTERVAL 1 HOUR ELSE {WATERMARK} END"
        return open_table(raw.withColumn(WATERMARK, F.expr(moved)))

    monkeypatch.setattr(stream, "open_table", hasty)

    assert _found(little, "window", tmp_path)


def test_null_that_equals_null_in_a_join_is_found(
    little: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joins, "equality", lambda first, second: f"({first} <=> {second})")

    assert _found(little, "null", tmp_path)


def test_a_lost_retraction_is_found(little: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(node: UpdatingAggregate, rows: DataFrame, udfs: Udfs) -> DataFrame:
        return lower_updating_aggregate(node, rows, udfs).filter(f"NOT {RETRACT}")

    monkeypatch.setattr(lower, "lower_updating_aggregate", forgetful)

    assert _found(little, "retraction", tmp_path)


def _found(spark: SparkSession, name: str, folder: Path) -> list[str]:
    seed, shape = PLANTED[name]
    compile_little(spark, seed)
    return failures(spark, random_case(seed, queries=1, shapes=[shape]), folder)
