"""What the aggregates give on Spark, under their own names."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 - everybody calls it F

from engine import types
from engine.functions import AGGREGATES, find_aggregate
from engine.plan.calls import coerce
from engine.plan.expr import Column
from engine.plan.nodes import Aggregate
from engine.spark.printers.aggregates import aggregate_to_sql
from engine.spark.types import to_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

INT, BIGINT, FLOAT, TEXT, MONEY = types.INT, types.BIGINT, types.Float(32), types.TEXT, types.Decimal(10, 2)
COLUMNS = {"i": INT, "big": BIGINT, "f": FLOAT, "money": MONEY, "t": TEXT, "none": BIGINT}
ROWS = [
    (2**31 - 1, 1, 1.5, Decimal("1.50"), "a", None),
    (1, 2, None, Decimal("0.25"), "Z", None),
    (None, None, 2.5, None, None, None),
]
CASES = (
    ("count", "i", 2),
    ("count", "none", 0),
    ("sum", "i", 2**31),
    ("sum", "none", None),
    ("sum", "f", 4.0),
    ("sum", "money", Decimal("1.75")),
    ("avg", "big", 1.5),
    ("mean", "f", 2.0),
    ("avg", "money", Decimal("0.875000")),
    ("avg", "none", None),
    ("min", "t", "Z"),
    ("max", "t", "a"),
    ("min", "none", None),
    ("max", "i", 2**31 - 1),
    ("array_agg", "t", ["a", "Z", None]),
)


def test_aggregates_give_what_the_table_says_in_the_declared_types(spark: SparkSession) -> None:
    calls = [_call(name, column) for name, column, _ in CASES]
    totals = _frame(spark).agg(*[F.expr(text) for text, _ in calls])

    assert list(totals.collect()[0]) == [expected for _, _, expected in CASES]
    assert [field.dataType for field in totals.schema] == [to_spark(kind) for _, kind in calls]


def test_every_aggregate_and_alias_has_a_case() -> None:
    names = {name for function in AGGREGATES.values() for name in (function.name, *function.aliases)}
    assert {name for name, _, _ in CASES} == names


def test_only_count_takes_a_star(spark: SparkSession) -> None:
    assert [name for name, function in AGGREGATES.items() if function.takes_star] == ["count"]
    assert AGGREGATES["count"].resolve([]) is not None
    assert AGGREGATES["sum"].resolve([]) is None
    assert _frame(spark).agg(F.expr("count(1)")).collect()[0][0] == len(ROWS)


def test_a_sum_that_overflows_fails(spark: SparkSession) -> None:
    with pytest.raises(PySparkException):
        spark.sql("SELECT * FROM VALUES (9223372036854775807L), (1L) AS t(big)").agg(
            F.expr(_call("sum", "big")[0])
        ).collect()


def _frame(spark: SparkSession) -> DataFrame:
    schema = ", ".join(f"{name} {to_spark(kind).simpleString()}" for name, kind in COLUMNS.items())
    return spark.createDataFrame(ROWS, schema)


def _call(name: str, column: str) -> tuple[str, types.Type]:
    function = find_aggregate(name)
    assert function is not None
    signature = function.resolve([COLUMNS[column]])
    assert signature is not None
    inside = coerce(Column(column, COLUMNS[column]), signature.arguments[0])
    return aggregate_to_sql(Aggregate(function.name, (inside,), signature.result)), signature.result
