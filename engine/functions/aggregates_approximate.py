"""Aggregates that keep less than all values, and so are off by a little when there are many."""

from __future__ import annotations

from engine.functions.base import AggregateFunction, takes
from engine.functions.parameters import anything_known, number, only_number_or_null
from engine.types import BIGINT, DOUBLE, Type


def _same(arguments: tuple[Type, ...]) -> Type:
    return arguments[0]


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value <= 1


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value > 0


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
