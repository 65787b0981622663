"""Statistics of all rows of a group, all of them as DOUBLE. A row with a NULL among the arguments is left out."""

from __future__ import annotations

from engine.functions.base import AggregateFunction, takes
from engine.functions.parameters import only_number_or_null
from engine.functions.retention import Retention
from engine.types import BIGINT, DOUBLE


def _of_one(name: str, doc: str, *aliases: str) -> AggregateFunction:
    resolve = takes(only_number_or_null, result=DOUBLE)
    return AggregateFunction(name, f"{name}(number)", doc, resolve, aliases, retention=Retention.MOMENTS)


def _of_two(name: str, doc: str, *aliases: str) -> AggregateFunction:
    resolve = takes(only_number_or_null, only_number_or_null, result=DOUBLE)
    return AggregateFunction(name, f"{name}(y, x)", doc, resolve, aliases, retention=Retention.MOMENTS)


STATISTICAL = (
    _of_one(
        "stddev",
        "The standard deviation of a sample; NULL for fewer than two values.",
        "stddev_samp",
    ),
    _of_one("stddev_pop", "The standard deviation of a whole population; NULL when there is no value."),
    _of_one("var_samp", "The variance of a sample; NULL for fewer than two values.", "var", "var_sample"),
    _of_one("var_pop", "The variance of a whole population; NULL when there is no value.", "var_population"),
    _of_two("covar_samp", "The covariance of a sample; NULL for fewer than two rows.", "covar"),
    _of_two("covar_pop", "The covariance of a whole population; NULL when there is no row."),
    _of_two(
        "corr", "Pearson's correlation, from -1 to 1; NULL for fewer than two rows, and when either never changes."
    ),
    _of_two(
        "regr_slope",
        "The slope of the line that fits best; NULL for fewer than two rows, and when x never changes.",
    ),
    _of_two("regr_intercept", "The y of that line where x is zero; NULL when it has no slope."),
    _of_two(
        "regr_r2", "How well that line fits, from 0 to 1; NULL for fewer than two rows, and when either never changes."
    ),
    _of_two("regr_avgx", "The mean of x; NULL when there is no row."),
    _of_two("regr_avgy", "The mean of y; NULL when there is no row."),
    _of_two("regr_sxx", "The squared distances of x from its mean, added up; NULL when there is no row."),
    _of_two("regr_syy", "The squared distances of y from its mean, added up; NULL when there is no row."),
    _of_two("regr_sxy", "The products of both distances from the mean, added up; NULL when there is no row."),
    AggregateFunction(
        "regr_count",
        "regr_count(y, x)",
        "How many rows there are in which both are not NULL; never NULL.",
        takes(only_number_or_null, only_number_or_null, result=BIGINT),
        nullable=False,
        retention=Retention.COUNT,
    ),
)
