"""Statistics of all rows of a group, exact and approximate.

Statistical aggregates, all of them DOUBLE. Rows with a NULL argument are ignored.
"""

from __future__ import annotations

from engine.functions.base import (
    AggregateFunction,
    Retention,
    anything_known,
    number,
    only_number_or_null,
    sortable,
    takes,
)
from engine.types import BIGINT, DOUBLE, Type


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


def _same(arguments: tuple[Type, ...]) -> Type:
    return arguments[0]


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value <= 1


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value > 0


QUANTILES = (
    AggregateFunction(
        "percentile_cont",
        "percentile_cont(percentile) WITHIN GROUP (ORDER BY number)",
        "The value below which that share of the values lies, exactly: between two values it is interpolated, as "
        "DOUBLE. The percentile is a constant from 0 to 1. Written as percentile_cont(number, percentile), too. It "
        "keeps all values. NULL when there is none.",
        takes(only_number_or_null, DOUBLE, result=DOUBLE),
        ("quantile_cont", "percentile"),
        constants={1: _is_share},
        within_group=True,
        collects_in_window=True,
    ),
    AggregateFunction(
        "percentile_disc",
        "percentile_disc(percentile) WITHIN GROUP (ORDER BY value)",
        "The first value, in their order, up to which at least that share of the values lies. The percentile is a "
        "constant from 0 to 1. Written as percentile_disc(value, percentile), too. It keeps all values. NULL when "
        "there is none.",
        takes(sortable, DOUBLE, result=_same),
        ("quantile_disc",),
        constants={1: _is_share},
        within_group=True,
        collects_in_window=True,
    ),
    AggregateFunction(
        "mode",
        "mode(value)",
        "The value that occurs most often, and of several such values the least. Written as mode() WITHIN "
        "GROUP (ORDER BY value), too. It keeps all values. NULL when there is none.",
        takes(sortable, result=_same),
        within_group=True,
        collects_in_window=True,
    ),
)


APPROXIMATE = (
    AggregateFunction(
        "approx_distinct",
        "approx_distinct(value)",
        "How many different values there are, exact for a few and within a percent or two for many; never NULL.",
        takes(anything_known, result=BIGINT),
        nullable=False,
    ),
    AggregateFunction(
        "approx_median",
        "approx_median(number)",
        "Approximately the value in the middle, as the type of the numbers; NULL when there is no value.",
        takes(number, result=_same),
    ),
    AggregateFunction(
        "approx_percentile_cont",
        "approx_percentile_cont(number, percentile [, centroids])",
        "Approximately the value below which that share of the values lies; the percentile is a constant from "
        "0 to 1. Written "
        "as approx_percentile_cont(percentile) WITHIN GROUP (ORDER BY number), too. The number of centroids is a whole "
        "constant and changes nothing. NULL when there is no value.",
        takes(number, DOUBLE, BIGINT, result=_same, optional=1),
        constants={1: _is_share, 2: _is_count},
        within_group=True,
    ),
    AggregateFunction(
        "approx_percentile_cont_with_weight",
        "approx_percentile_cont_with_weight(number, weight, percentile)",
        "The value at which the weights, added up in the order of the values, reach that share of the number of rows; "
        "the percentile is a constant from 0 to 1. As in Arroyo it is a share of the rows and not of the "
        "weights, so weights should be one in the mean. It keeps all values. NULL when there is none.",
        takes(number, only_number_or_null, DOUBLE, result=_same),
        constants={2: _is_share},
        within_group=True,
        collects_in_window=True,
    ),
)
