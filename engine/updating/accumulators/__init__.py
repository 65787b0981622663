"""Accumulators: how a changelog aggregate stores the values of a group, by its declared retention.

A function has an accumulator if its values can be summarised in columns. All others store the values with their
multiplicity, and compute the result from the list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import pyarrow as pa

from engine.functions import AGGREGATES
from engine.functions.base import Retention
from engine.schema import to_arrow
from engine.types import Decimal, Float
from engine.updating.accumulators.counts import Accumulator, Count, Every, ExclusiveOr, Measure
from engine.updating.accumulators.exact_totals import Extreme, Floats, Whole
from engine.updating.accumulators.moments import GATHERED, Moments
from engine.updating.accumulators.udf_objects import Incremental

__all__ = ["Accumulator", "Measure", "accumulator_for", "accumulator_of", "columns_of_merged", "keeps_values"]


@cache
def accumulator_of(measure: Measure) -> Accumulator | None:
    """Return the accumulator of a function; None if it needs the values themselves."""
    if measure.udf is not None:
        return Incremental(measure.udf)
    if measure.function == GATHERED:
        return None
    accumulator = _ACCUMULATORS.get(AGGREGATES[measure.function].retention)
    return None if accumulator is None else accumulator(measure)


def _total(measure: Measure, *, mean: bool) -> Accumulator:
    match measure.arguments[0]:
        case Decimal(_, scale):
            return Whole(to_arrow(measure.result), 4, mean=mean, scale=scale)
        case Float():
            return Floats(mean=mean)
    return Whole(to_arrow(measure.result), 2)


_ACCUMULATORS: Mapping[Retention, Callable[[Measure], Accumulator]] = {
    Retention.COUNT: lambda _: Count(),
    Retention.TOTAL: lambda measure: _total(measure, mean=False),
    Retention.MEAN: lambda measure: _total(measure, mean=True),
    Retention.EVERY_TRUE: lambda _: Every(any_will_do=False),
    Retention.ANY_TRUE: lambda _: Every(any_will_do=True),
    Retention.PARITY: lambda measure: ExclusiveOr(to_arrow(measure.result)),
    Retention.LEAST: lambda _: Extreme(greatest=False),
    Retention.GREATEST: lambda _: Extreme(greatest=True),
    Retention.MOMENTS: lambda measure: Moments(measure.function),
}


def accumulator_for(measure: Measure) -> Accumulator:
    """Return the accumulator of a function that has one, since it stores no values."""
    accumulator = accumulator_of(measure)
    assert accumulator is not None, measure.function
    return accumulator


def columns_of_merged(measure: Measure, partials: Sequence[pa.Array]) -> list[pa.Array]:
    """Return the columns of the accumulator for partial rows: from their count, from their sum and its count of
    numbers, or from their least or greatest value."""
    accumulator = accumulator_for(measure)
    if isinstance(accumulator, Whole):
        return accumulator.of_totals(*partials)
    assert isinstance(accumulator, Count | Extreme), measure.function
    return list(partials)


@cache
def keeps_values(measure: Measure, *, only_appends: bool) -> bool:
    """Whether the values of a group must be stored."""
    if measure.udf is not None:
        return measure.distinct
    if measure.function == GATHERED:
        return True
    return AGGREGATES[measure.function].retains_values(distinct=measure.distinct, only_appends=only_appends)
