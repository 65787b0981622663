"""Rows that cannot be among the first ones of their window are left out, and only those."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from engine import types
from engine.plan.expressions.expr import Column
from engine.plan.placement.whole import Leading
from engine.spark.lower.over import lower_leading

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_START = datetime(2024, 1, 1, tzinfo=UTC)
_NUMBERS = (None, -(2**63), -1, 0, 1, 2, 3, 2**63 - 1)


def rows_of(spark: SparkSession, seed: int) -> DataFrame:
    """Rows of sessions that begin together and end apart, with few different values and some that are missing."""
    chance = random.Random(seed)
    rows = [
        (
            chance.choice([None, *((_START, _START + timedelta(seconds=end)) for end in (1, 2, 3))]),
            number,
            chance.choice(_NUMBERS),
            chance.choice([None, _START, _START + timedelta(microseconds=1)]),
        )
        for number in range(400)
    ]
    kinds = "w struct<start: timestamp, end: timestamp>, id bigint, n bigint, at timestamp"
    return spark.createDataFrame(rows, kinds).repartition(3, "id").cache()


@pytest.mark.parametrize("seed", [1, 2])
def test_the_first_places_are_the_same_without_them(spark: SparkSession, seed: int) -> None:
    rows = rows_of(spark, seed)
    for column, descending, ranking, places in (
        (Column("n", types.BIGINT), True, "row_number", 1),
        (Column("n", types.BIGINT), False, "row_number", 3),
        (Column("at", types.TIMESTAMP), True, "rank", 2),
        (Column("at", types.TIMESTAMP), False, "dense_rank", 1),
    ):
        order = f"{column.name} {'DESC' if descending else 'ASC'} NULLS {'FIRST' if seed == 1 else 'LAST'}"
        then = ", id" if ranking == "row_number" else ""
        place = F.expr(f"{ranking}() OVER (PARTITION BY w ORDER BY {order}{then})")

        leading = lower_leading(Leading("w", column, descending, places), rows)

        first = rows.withColumn("place", place).filter(f"place <= {places}")
        assert sorted(map(str, leading.withColumn("place", place).filter(f"place <= {places}").collect())) == sorted(
            map(str, first.collect())
        )
        assert leading.count() < rows.count()
    rows.unpersist()
