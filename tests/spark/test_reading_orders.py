"""Spark keeps what a window adds up in the order in which it is read, and the plan knows that order."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engine.compile import compile_script
from engine.spark.lower import stream_lowering
from engine.udf.declared import NO_UDFS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
        table = spark.sql("SELECT 'k' AS k, 1L AS a, 2L AS b, 3L AS c, now() AS _timestamp, now() AS _wm FROM range(9)")
        frame = stream_lowering({"t": table}, {}, NO_UDFS).lower(branch)
        optimized = frame._jdf.queryExecution().optimizedPlan().toString()
        (aggregate,) = re.findall(r"^\W*Aggregate .*$", optimized, re.MULTILINE)
        meanings = tuple(column.meaning for column in operator.columns)
        kept.setdefault(meanings, set()).add(tuple(re.findall(r"sum\((\w)#", aggregate)))

    assert {len(orders) for orders in kept.values()} == {1}, kept
    assert len({order for orders in kept.values() for order in orders}) > 3
    plain = tuple(column.meaning for column in compile_script(TABLE + SUMS).operators[0].columns)
    assert kept[plain] == {("a", "b", "c")}
