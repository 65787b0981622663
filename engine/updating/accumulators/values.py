"""Results made from kept values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from engine.plan.nodes import ROW_ID
from engine.schema import to_arrow
from engine.updating.accumulators.base import Measure
from engine.updating.accumulators.counts import present
from engine.updating.accumulators.lists import KEEPS_NULLS, function_of
from engine.updating.columns import FIRST, VALUE, WEIGHT
from engine.updating.groups import Groups, Longs, longs


def result_of_values(measure: Measure, values: pa.Table | None, ids: Longs) -> pa.Array:
    """The result of each key in `ids`, which are sorted, from the values that are there of them: a table sorted by
    key with how often each value is there."""
    from engine.updating.accumulators import accumulator_of  # noqa: PLC0415 - it names what is in here

    kind = to_arrow(measure.result)
    if values is None:
        values = _nothing(measure)
    arguments = [values[f"a{place}"].combine_chunks() for place in range(len(measure.arguments))]
    weights = longs(values[WEIGHT])
    if measure.distinct:
        weights = np.ones_like(weights)
    owners = longs(values[ROW_ID])
    low, high = np.searchsorted(owners, ids, "left"), np.searchsorted(owners, ids, "right")
    accumulator = accumulator_of(measure)
    if accumulator is None:
        firsts = longs(values[FIRST])
        return pa.array(_listed(measure, arguments, weights, firsts, low, high), kind)
    is_there = high > low
    order = np.concatenate([np.arange(a, b) for a, b in zip(low[is_there], high[is_there], strict=True)] or [low[:0]])
    groups = Groups(order, np.cumsum(np.append(0, (high - low)[is_there]))[:-1])
    started = accumulator.start(arguments, weights, groups)
    # a key without values is as one whose only value is NULL
    nothing = accumulator.start([pa.nulls(1, one.type) for one in arguments], np.zeros(1, np.int64), _ONE)
    both = [pa.concat_arrays([some.cast(none.type), none]) for some, none in zip(started, nothing, strict=True)]
    finished = accumulator.finish(both)
    place = np.where(is_there, np.cumsum(is_there) - 1, groups.count)
    return finished.take(pa.array(place))


_ONE = Groups(np.zeros(1, np.int64), np.zeros(1, np.int64))


def _listed(
    measure: Measure, arguments: list[pa.Array], weights: Longs, firsts: Longs, low: Longs, high: Longs
) -> list[object]:
    compute = function_of(measure.function, measure.arguments)
    taking = np.ones(len(weights), bool)
    if measure.function not in KEEPS_NULLS:
        taking = present(arguments, len(weights))
    columns = [argument.to_pylist() for argument in arguments]
    results = []
    for start, end in zip(low.tolist(), high.tolist(), strict=True):
        places = sorted(range(start, end), key=firsts.__getitem__)
        rows = [
            tuple(column[place] for column in columns)
            for place in places
            if taking[place]
            for _ in range(int(weights[place]))
        ]
        results.append(compute(rows))
    return results


def _nothing(measure: Measure) -> pa.Table:
    columns = {name: pa.array([], pa.int64()) for name in (ROW_ID, VALUE, WEIGHT, FIRST)}
    columns |= {f"a{place}": pa.array([], to_arrow(kind)) for place, kind in enumerate(measure.arguments)}
    return pa.table(columns)
