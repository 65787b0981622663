"""What the aggregates give on Spark, under their own names."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 - everybody calls it F

from engine.compile import compile_script
from engine.functions import AGGREGATES
from engine.plan.expressions.expr import Column
from engine.plan.nodes import Aggregate, Project, WindowAggregate
from engine.plan.tree import walk
from engine.spark.printers.aggregates import aggregate_to_sql, distinct_to_sql
from engine.spark.spark_types import to_spark
from engine.types import BIGINT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLE = """
CREATE TABLE numbers (
    at TIMESTAMP NOT NULL, i INT, big BIGINT, f FLOAT, d DOUBLE, money DECIMAL(10, 2), t TEXT, yes BOOLEAN,
    none BIGINT, same DOUBLE
) WITH (connector = 'single_file', path = '/numbers.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE sink WITH (connector = 'blackhole');
INSERT INTO sink SELECT tumble('1 minute'), {calls} FROM numbers GROUP BY tumble('1 minute');
"""
SCHEMA = "i INT, big BIGINT, f FLOAT, d DOUBLE, money DECIMAL(10, 2), t STRING, yes BOOLEAN, none BIGINT, same DOUBLE"
ROWS = [
    (2**31 - 1, 1, 1.5, 10.0, Decimal("1.50"), "a", True, None, 7.0),
    (1, 2, None, 20.0, Decimal("0.25"), "Z", False, None, 7.0),
    (None, None, 2.5, 40.0, None, None, None, None, 7.0),
]
CASES = (
    ("count(*)", 3),
    ("count(i)", 2),
    ("count(none)", 0),
    ("sum(i)", 2**31),
    ("sum(none)", None),
    ("sum(f)", 4.0),
    ("sum(money)", Decimal("1.75")),
    ("avg(big)", 1.5),
    ("mean(f)", 2.0),
    ("avg(money)", Decimal("0.875000")),
    ("avg(none)", None),
    ("min(t)", "Z"),
    ("max(t)", "a"),
    ("min(none)", None),
    ("max(i)", 2**31 - 1),
    ("median(i)", 2**30),
    ("median(big)", 1),
    ("median(big - 2)", 0),
    ("median(9223372036854775806 - big + big)", 2**63 - 2),
    ("median(f)", 2.0),
    ("median(d)", 20.0),
    ("median(money)", Decimal("0.87")),
    ("median(none)", None),
    ("bit_and(i)", 1),
    ("bit_or(big)", 3),
    ("bit_xor(big)", 3),
    ("bit_xor(none)", None),
    ("bool_and(yes)", False),
    ("bool_or(yes)", True),
    ("bool_and(none > 1)", None),
    ("array_agg(t)", ["a", "Z", None]),
    ("array_agg(t ORDER BY d DESC)", [None, "Z", "a"]),
    ("array_agg(t ORDER BY t)", ["Z", "a", None]),
    ("array_agg(t ORDER BY same DESC, d % 3 ASC)", ["a", None, "Z"]),
    ("array_agg(t ORDER BY big DESC NULLS LAST) FILTER (WHERE d > 10)", ["Z", None]),
    ("array_agg(t IGNORE NULLS)", ["a", "Z"]),
    ("array_agg(t) FILTER (WHERE false)", None),
    ("string_agg(t, ', ')", "a, Z"),
    ("string_agg(t, '/' ORDER BY t)", "Z/a"),
    ("string_agg(t, '') FILTER (WHERE t IS NULL)", None),
    ("first_value(t)", "a"),
    ("first_value(t ORDER BY d DESC)", None),
    ("first_value(t ORDER BY d DESC) IGNORE NULLS", "Z"),
    ("first_value(d ORDER BY big)", 10.0),
    ("first_value(d ORDER BY big DESC)", 40.0),
    ("first_value(d ORDER BY big DESC NULLS LAST)", 20.0),
    ("first_value(d ORDER BY big NULLS FIRST)", 40.0),
    ("first_value(d ORDER BY same, big DESC)", 40.0),
    ("last_value(t)", None),
    ("last_value(d ORDER BY big)", 40.0),
    ("last_value(d ORDER BY big DESC)", 10.0),
    ("last_value(d ORDER BY same, big DESC)", 10.0),
    ("last_value(d) FILTER (WHERE d < 0)", None),
    ("nth_value(t, 2)", "Z"),
    ("nth_value(t, 2 ORDER BY t)", "a"),
    ("nth_value(t, -3)", "a"),
    ("nth_value(t, 4)", None),
    ("stddev(big)", math.sqrt(0.5)),
    ("stddev_samp(big) FILTER (WHERE big = 1)", None),
    ("stddev_pop(big)", 0.5),
    ("stddev_pop(big) FILTER (WHERE big = 1)", 0.0),
    ("var(big)", 0.5),
    ("var_samp(none)", None),
    ("var_sample(f)", 0.5),
    ("var_pop(money)", 0.390625),
    ("var_population(big) FILTER (WHERE big > 9)", None),
    ("covar_samp(d, big)", 5.0),
    ("covar(d, big) FILTER (WHERE big = 1)", None),
    ("covar_pop(d, big)", 2.5),
    ("covar_pop(d, none)", None),
    ("corr(d, big)", 1.0),
    ("corr(d, same)", None),
    ("corr(same, d)", None),
    ("corr(d, big) FILTER (WHERE big = 1)", None),
    ("regr_slope(d, big)", 10.0),
    ("regr_slope(d, same)", None),
    ("regr_slope(same, d)", 0.0),
    ("regr_intercept(d, big)", 0.0),
    ("regr_intercept(d, same)", None),
    ("regr_r2(d, big)", 1.0),
    ("regr_r2(same, d)", None),
    ("regr_r2(d, same)", None),
    ("regr_avgx(d, big)", 1.5),
    ("regr_avgy(d, big)", 15.0),
    ("regr_avgy(d, none)", None),
    ("regr_sxx(d, big)", 0.5),
    ("regr_sxx(d, big) FILTER (WHERE big = 1)", 0.0),
    ("regr_syy(d, big)", 50.0),
    ("regr_sxy(d, big)", 5.0),
    ("regr_sxy(d, none)", None),
    ("regr_count(d, big)", 2),
    ("regr_count(d, none)", 0),
    ("approx_distinct(t)", 2),
    ("approx_distinct(same)", 1),
    ("approx_distinct(none)", 0),
    ("approx_median(d)", 20.0),
    ("approx_median(big)", 1),
    ("approx_median(f)", 2.0),
    ("approx_median(none)", None),
    ("approx_percentile_cont(d, 0.9)", 40.0),
    ("approx_percentile_cont(d, 0)", 10.0),
    ("approx_percentile_cont(d, 1, 100)", 40.0),
    ("approx_percentile_cont(0.5) WITHIN GROUP (ORDER BY money)", Decimal("0.87")),
    ("percentile_cont(0.5) WITHIN GROUP (ORDER BY d)", 20.0),
    ("percentile_cont(0.9) WITHIN GROUP (ORDER BY d)", 36.0),
    ("percentile_cont(0) WITHIN GROUP (ORDER BY big)", 1.0),
    ("percentile_cont(1) WITHIN GROUP (ORDER BY money)", 1.5),
    ("percentile_cont(f, 0.25) FILTER (WHERE d > 10)", 2.5),
    ("quantile_cont(none, 0.5)", None),
    ("percentile(big, 0.5)", 1.5),
    ("percentile_disc(0.5) WITHIN GROUP (ORDER BY d)", 20.0),
    ("percentile_disc(0.67) WITHIN GROUP (ORDER BY d)", 40.0),
    ("percentile_disc(0) WITHIN GROUP (ORDER BY t)", "Z"),
    ("percentile_disc(0.5) WITHIN GROUP (ORDER BY money)", Decimal("0.25")),
    ("percentile_disc(0.5) WITHIN GROUP (ORDER BY yes)", False),
    ("quantile_disc(none, 1)", None),
    ("mode(same)", 7.0),
    ("mode(t)", "Z"),
    ("mode() WITHIN GROUP (ORDER BY d % 20)", 0.0),
    ("mode(money)", Decimal("0.25")),
    ("mode(none)", None),
    ("approx_percentile_cont_with_weight(d, 1, 0.5)", 20.0),
    ("approx_percentile_cont_with_weight(d, big, 0.9)", 20.0),
    ("approx_percentile_cont_with_weight(1, 0.1) WITHIN GROUP (ORDER BY i)", 1),
    ("approx_percentile_cont_with_weight(none, 1, 0.1)", None),
)


def test_aggregates_give_what_the_table_says_in_the_declared_types(spark: SparkSession) -> None:
    calls = _aggregates([call for call, _ in CASES])
    totals = _frame(spark).agg(*[F.expr(aggregate_to_sql(aggregate)) for aggregate in calls])

    results = dict(zip([call for call, _ in CASES], totals.collect()[0], strict=True))
    assert {call: _near(value) for call, value in results.items()} == {call: _near(value) for call, value in CASES}
    assert [field.dataType for field in totals.schema] == [to_spark(aggregate.type) for aggregate in calls]


def test_every_aggregate_and_alias_has_a_case() -> None:
    names = {name for function in AGGREGATES.values() for name in (function.name, *function.aliases)}
    assert {re.split(r"\W", call)[0] for call, _ in CASES} == names


def test_distinct_aggregate_is_printed_over_a_set() -> None:
    column = Column("v", BIGINT)
    declared = [name for name, function in AGGREGATES.items() if function.distinct_by_set]

    assert declared == ["count", "sum", "avg"]
    for name in declared:
        assert "collect_set" in distinct_to_sql(Aggregate(name, (column,), BIGINT, distinct=True))


def test_only_count_takes_a_star(spark: SparkSession) -> None:
    assert [name for name, function in AGGREGATES.items() if function.takes_star] == ["count"]
    assert AGGREGATES["count"].resolve([]) is not None
    assert AGGREGATES["sum"].resolve([]) is None
    assert _frame(spark).agg(F.expr("count(1)")).collect()[0][0] == len(ROWS)


def test_a_sum_that_overflows_fails(spark: SparkSession) -> None:
    with pytest.raises(PySparkException):
        spark.sql("SELECT * FROM VALUES (9223372036854775807L), (1L) AS t(big)").agg(
            F.expr(aggregate_to_sql(_aggregates(["sum(big)"])[0]))
        ).collect()


def _frame(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS, SCHEMA).coalesce(1)


def _aggregates(calls: list[str]) -> list[Aggregate]:
    """The aggregates that the calls are translated to."""
    branch = compile_script(TABLE.format(calls=", ".join(calls))).parts.branches[0]
    projection = next(node for node in walk(branch) if isinstance(node, Project))
    windowed = next(node for node in walk(branch) if isinstance(node, WindowAggregate))
    by_name = {named.name: named.aggregate for named in windowed.aggregates}
    return [by_name[item.expr.name] for item in projection.columns[1:] if isinstance(item.expr, Column)]


def _near(value: object) -> object:
    return round(value, 9) if isinstance(value, float) else value
