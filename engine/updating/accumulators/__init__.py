"""How the values of a group are retained in an updating aggregate, by what the aggregate declares.

A function has an accumulator, when its values can be summed up in columns; everything else keeps the values themselves,
each with how often it is there, and makes its result from the list.
"""

from __future__ import annotations

from functools import cache

from engine.functions import AGGREGATES
from engine.functions.retention import Retention
from engine.schema import to_arrow
from engine.types import Decimal, Float
from engine.updating.accumulators.base import Accumulator, Measure
from engine.updating.accumulators.counts import Count, Every, ExclusiveOr
from engine.updating.accumulators.extremes import Extreme
from engine.updating.accumulators.floats import Floats
from engine.updating.accumulators.incremental import Incremental
from engine.updating.accumulators.lists import GATHERED
from engine.updating.accumulators.moments import Moments
from engine.updating.accumulators.whole import Whole

__all__ = ["Accumulator", "Measure", "accumulator_for", "accumulator_of", "keeps_values"]


@cache
def accumulator_of(measure: Measure) -> Accumulator | None:
    """The accumulator of a function; None when it needs the values themselves."""
    if measure.udf is not None:
        return Incremental(measure.udf)
    if measure.function == GATHERED:
        return None
    match AGGREGATES[measure.function].retention:
        case Retention.COUNT:
            return Count()
        case Retention.TOTAL:
            return _total(measure, mean=False)
        case Retention.MEAN:
            return _total(measure, mean=True)
        case Retention.EVERY_TRUE:
            return Every(any_will_do=False)
        case Retention.ANY_TRUE:
            return Every(any_will_do=True)
        case Retention.PARITY:
            return ExclusiveOr(to_arrow(measure.result))
        case Retention.LEAST:
            return Extreme(greatest=False)
        case Retention.GREATEST:
            return Extreme(greatest=True)
        case Retention.MOMENTS:
            return Moments(measure.function)
        case Retention.VALUES:
            return None


def _total(measure: Measure, *, mean: bool) -> Accumulator:
    match measure.arguments[0]:
        case Decimal(_, scale):
            return Whole(to_arrow(measure.result), 4, mean=mean, scale=scale)
        case Float():
            return Floats(mean=mean)
    return Whole(to_arrow(measure.result), 2)


def accumulator_for(measure: Measure) -> Accumulator:
    """The accumulator of a function whose values are not kept, which has one."""
    accumulator = accumulator_of(measure)
    assert accumulator is not None, measure.function
    return accumulator


@cache
def keeps_values(measure: Measure, *, only_appends: bool) -> bool:
    """Whether the values of a group must be kept."""
    if measure.udf is not None:
        return measure.distinct
    if measure.function == GATHERED:
        return True
    return AGGREGATES[measure.function].retains_values(distinct=measure.distinct, only_appends=only_appends)
