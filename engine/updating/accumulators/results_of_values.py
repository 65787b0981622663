"""Results from stored values.

    table of values      key a, value 3, twice            key a, value 4, once
    median(value)        list [3, 3, 4]: 3                count(DISTINCT value)    list [3, 4]: 2

If the aggregate has an accumulator, the values pass through it, with their multiplicity as weight.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from engine.functions import AGGREGATES
from engine.plan.tree import ROW_ID
from engine.schema import to_arrow
from engine.updating.accumulators import accumulator_of
from engine.updating.accumulators.counts import Measure, Sorting, present
from engine.updating.accumulators.moments import GATHERED, LISTS, function_of
from engine.updating.groups import Groups, Longs, longs
from engine.updating.state_columns import FIRST, VALUE, WEIGHT


def result_of_values(measure: Measure, values: pa.Table | None, ids: Longs) -> pa.Array:
    """Return the result of each key in `ids`, which are sorted, from its values: a table sorted by key with the number
    of occurrences of each value."""
    kind = to_arrow(measure.result)
    if values is None:
        values = _no_values(measure)
    arguments = [values[f"a{place}"].combine_chunks() for place in range(len(measure.arguments))]
    weights = longs(values[WEIGHT])
    if measure.distinct:
        weights = np.ones_like(weights)
    owners = longs(values[ROW_ID])
    low, high = np.searchsorted(owners, ids, "left"), np.searchsorted(owners, ids, "right")
    accumulator = accumulator_of(measure)
    if accumulator is None or measure.function in LISTS:
        return pa.array(_results_of_lists(measure, values, weights, low, high), kind)
    is_there = high > low
    order = np.concatenate([np.arange(a, b) for a, b in zip(low[is_there], high[is_there], strict=True)] or [low[:0]])
    groups = Groups(order, np.cumsum(np.append(0, (high - low)[is_there]))[:-1])
    started = accumulator.start(arguments, weights, groups)
    # a key without values is as one whose only value is NULL
    nothing = accumulator.start([pa.nulls(1, argument.type) for argument in arguments], np.zeros(1, np.int64), _ONE)
    both = [pa.concat_arrays([some.cast(none.type), none]) for some, none in zip(started, nothing, strict=True)]
    finished = accumulator.finish(both)
    place = np.where(is_there, np.cumsum(is_there) - 1, groups.count)
    return finished.take(pa.array(place))


_ONE = Groups(np.zeros(1, np.int64), np.zeros(1, np.int64))


def _results_of_lists(measure: Measure, values: pa.Table, weights: Longs, low: Longs, high: Longs) -> list[object]:
    compute = function_of(measure.function, measure.result)
    arguments = [values[f"a{place}"].combine_chunks() for place in range(len(measure.arguments))]
    is_taken = np.ones(len(weights), bool)
    if measure.function != GATHERED and not AGGREGATES[measure.function].takes_nulls:
        is_taken = present(arguments, len(weights))
    columns = [argument.to_pylist() for argument in arguments]
    sorting = [values[f"o{place}"].to_pylist() for place in range(len(measure.order))]
    firsts = longs(values[FIRST]).tolist()
    results = []
    for start, end in zip(low.tolist(), high.tolist(), strict=True):
        places = (start + np.flatnonzero(is_taken[start:end])).tolist()
        places = _in_order(places, firsts, sorting, measure.order)
        repeated = [place for place in places for _ in range(int(weights[place]))]
        results.append(compute([tuple(column[place] for column in columns) for place in repeated]))
    return results


def _in_order(
    places: list[int], firsts: list[int], sorting: Sequence[list[object]], order: Sequence[Sorting]
) -> list[int]:
    """Return the positions in the order that the aggregate needs: its own order, or else that of arrival."""
    places = sorted(places, key=firsts.__getitem__)
    for values, how in reversed(list(zip(sorting, order, strict=True))):
        places = _sort(places, values, how)
    return places


def _sort(places: list[int], values: list[object], how: Sorting) -> list[int]:
    def key(place: int) -> tuple[bool, object]:
        value = values[place]
        is_nan = isinstance(value, float) and math.isnan(value)
        return is_nan, 0.0 if is_nan else value

    places_of_values = sorted((place for place in places if values[place] is not None), key=key, reverse=how.descending)
    unknown = [place for place in places if values[place] is None]
    return [*unknown, *places_of_values] if how.nulls_first else [*places_of_values, *unknown]


def _no_values(measure: Measure) -> pa.Table:
    columns = {name: pa.array([], pa.int64()) for name in (ROW_ID, VALUE, WEIGHT, FIRST)}
    columns |= {f"a{place}": pa.array([], to_arrow(kind)) for place, kind in enumerate(measure.arguments)}
    columns |= {f"o{place}": pa.array([], to_arrow(sorting.type)) for place, sorting in enumerate(measure.order)}
    return pa.table(columns)
