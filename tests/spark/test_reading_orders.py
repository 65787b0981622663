"""Spark keeps what a window adds up in the order in which it is read, and the plan knows that order."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from engine.compile import compile_script
from engine.spark.lower import stream_lowering
from engine.udf.declared import NO_UDFS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLE = """
CREATE TABLE t (at TIMESTAMP NOT NULL, k TEXT, a BIGINT, b BIGINT, c BIGINT, WATERMARK FOR at)
WITH (connector = 'single_file', path = '/t', format = 'json', type = 'source');
"""
SUMS = "SELECT tumble('1 minute') AS w, k, sum(a) AS x, sum(b) AS y, sum(c) AS z FROM t GROUP BY 1, 2"


QUERIES = (
    SUMS,
    f"SELECT x + 1 AS more, k, y, 7 AS seven, z * x AS most FROM ({SUMS})",
    f"SELECT z, x, y FROM ({SUMS}) WHERE k = 'a'",
    f"SELECT x FROM ({SUMS}) WHERE y > z",
    f"SELECT y, x, z FROM ({SUMS})",
    f"SELECT k, y, x, z FROM ({SUMS})",
    f"SELECT z FROM ({SUMS})",
    f"SELECT k, z + 1 AS one, x FROM ({SUMS})",
    f"SELECT x, z FROM (SELECT z, y, x FROM ({SUMS}))",
    f"SELECT z, x FROM ({SUMS}) WHERE k = 'a'",
    f"SELECT z, x FROM ({SUMS}) WHERE y > 3",
    f"SELECT z, x, y FROM (SELECT y, x, z FROM ({SUMS})) WHERE y > 3",
    f"SELECT y, x, z FROM (SELECT y, x, z FROM ({SUMS})) WHERE y > 3",
    f"SELECT y, x, z FROM (SELECT y, x, z, k FROM ({SUMS}) WHERE x > 1) WHERE y > 3",
)


def test_operators_with_the_same_columns_are_kept_alike_by_spark(spark: SparkSession) -> None:
    """Whether it folds a projection into the aggregate, moves a filter below it, or leaves out what nobody reads."""
    kept: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for query in QUERIES:
        program = compile_script(TABLE + query)
        (operator,), (branch,) = program.operators, program.parts.branches
        frame = stream_lowering({"t": rows_of_t(spark)}, {}, NO_UDFS).lower(branch)
        optimized = frame._jdf.queryExecution().optimizedPlan().toString()
        (aggregate,) = re.findall(r"^\W*Aggregate .*$", optimized, re.MULTILINE)
        meanings = tuple(column.meaning for column in operator.columns)
        kept.setdefault(meanings, set()).add(tuple(re.findall(r"sum\((\w)#", aggregate)))

    assert {len(orders) for orders in kept.values()} == {1}, kept
    assert len({order for orders in kept.values() for order in orders}) > 3
    plain = tuple(column.meaning for column in compile_script(TABLE + SUMS).operators[0].columns)
    assert kept[plain] == {("a", "b", "c")}


@pytest.mark.parametrize(
    "condition", ["k = 'a'", "upper(k) = 'A'", "k > 'a' AND x > 3", "w.start > TIMESTAMP '2026-01-01 00:00:00'"]
)
def test_condition_behind_a_window_is_not_evaluated_before_it(spark: SparkSession, condition: str) -> None:
    def below_the_window(query: str) -> int:
        (branch,) = compile_script(TABLE + query).parts.branches
        frame = stream_lowering({"t": rows_of_t(spark)}, {}, NO_UDFS).lower(branch)
        plan = frame._jdf.queryExecution().optimizedPlan().toString()
        return plan[plan.index("Aggregate") :].count("isnotnull") + plan[plan.index("Aggregate") :].count(" AND ")

    assert below_the_window(f"SELECT x, y, z, k, w FROM ({SUMS}) WHERE {condition}") == below_the_window(SUMS)


def rows_of_t(spark: SparkSession) -> DataFrame:
    """Rows of the table as its source opens them; any column may be NULL."""
    values = ", ".join(f"nullif({number}L, id) AS {name}" for number, name in enumerate("abc"))
    return spark.sql(f"SELECT nullif('k', id) AS k, {values}, now() AS _timestamp, now() AS _wm FROM range(9)")
