"""How each aggregate function is kept: the one place that says so.

A function has an accumulator, when its values can be summed up in columns; everything else keeps the values themselves,
each with how often it is there, and makes its result from the list.
"""

from __future__ import annotations

from functools import cache

from engine.schema import to_arrow
from engine.types import Decimal, Float, Integer
from engine.updating.accumulators.base import Accumulator, Measure
from engine.updating.accumulators.counts import Count, Every, ExclusiveOr
from engine.updating.accumulators.extremes import Extreme
from engine.updating.accumulators.floats import Floats
from engine.updating.accumulators.incremental import Incremental
from engine.updating.accumulators.lists import LISTS
from engine.updating.accumulators.moments import RESULTS, Moments
from engine.updating.accumulators.whole import Whole

__all__ = ["Accumulator", "Measure", "accumulator_of", "is_known", "keeps_values", "summing"]

_ONLY_FORWARD = frozenset({"min", "max", *RESULTS})
_SAME_WHEN_DISTINCT = frozenset({"min", "max", "bool_and", "bool_or", "bit_and", "bit_or"})


@cache
def accumulator_of(measure: Measure) -> Accumulator | None:
    """The accumulator of a function; None when it needs the values themselves."""
    if measure.own is not None:
        return Incremental(measure.own)
    kind = measure.arguments[0] if measure.arguments else None
    result = to_arrow(measure.result)
    match measure.function, kind:
        case "count", _:
            return Count()
        case "sum", Decimal(_, scale):
            return Whole(result, 4, scale=scale)
        case "avg" | "mean", Decimal(_, scale):
            return Whole(result, 4, mean=True, scale=scale)
        case "sum", Float():
            return Floats(mean=False)
        case "avg" | "mean", Float():
            return Floats(mean=True)
        case "sum", _:
            return Whole(result, 2)
        case "bool_and" | "bool_or" as name, _:
            return Every(name == "bool_or")
        case "bit_xor", Integer():
            return ExclusiveOr(result)
        case "min" | "max" as name, _:
            return Extreme(name == "max")
        case "regr_count", _:
            return Count()
        case name, _ if name in RESULTS:
            return Moments(name)
    return None


def summing(measure: Measure) -> Accumulator:
    """The accumulator of a function whose values are not kept, which has one."""
    found = accumulator_of(measure)
    assert found is not None, measure.function
    return found


@cache
def keeps_values(measure: Measure, *, only_appends: bool) -> bool:
    """Whether the values of a group must be kept."""
    if accumulator_of(measure) is None:
        return True
    if measure.function in _ONLY_FORWARD:
        return not only_appends or (measure.distinct and measure.function in RESULTS)
    return measure.distinct and measure.function not in _SAME_WHEN_DISTINCT


def is_known(function: str) -> bool:
    """Whether a declared aggregate can be kept without a window."""
    return function in LISTS or function in _ACCUMULATED


_ACCUMULATED = frozenset({"count", "sum", "avg", "mean", "min", "max", "bool_and", "bool_or", "bit_xor", "regr_count"})
