"""Variances, covariances and regression lines of values that are never retracted.

    add 3 and 5        centre 4, sum 0, squares 2, 2 rows       var_samp 2 / 1
    add 10             centre 6, sum 0, squares 26, 3 rows      var_samp 26 / 2

Sums of squares are stored relative to a centre near the mean: relative to zero they would lose all their digits. The
first value is the initial centre, so constant values have sums of exactly zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal, localcontext
from functools import partial, reduce
from itertools import groupby
from operator import and_, or_
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from engine.types import Decimal as DecimalType
from engine.types import Integer, Type
from engine.updating.accumulators.counts import present
from engine.updating.groups import Doubles, Groups, Longs


@dataclass(frozen=True, slots=True)
class Spread:
    """Per group: the number of rows, the means, and the sums of squares and products relative to them; y is the first
    argument."""

    count: Longs
    y: Doubles
    x: Doubles
    yy: Doubles
    xx: Doubles
    xy: Doubles


@dataclass(frozen=True, slots=True)
class Moments:
    """The columns are the centres of y and x, the sums of y, x, yy, xx and xy relative to them, and the number of
    rows."""

    function: str

    def start(self, arguments: Sequence[pa.Array], weights: Longs, groups: Groups) -> list[pa.Array]:
        """Return the sums of each group."""
        taking = weights * present(arguments, len(weights))
        y, x = (_numbers(argument) for argument in (arguments[0], arguments[-1]))
        nothing = np.zeros(len(taking))
        columns = [y, x, nothing, nothing, nothing, nothing, nothing, taking]
        return self.merge([pa.array(column) for column in columns], groups)

    def merge(self, columns: Sequence[pa.Array], groups: Groups) -> list[pa.Array]:
        """Return the sums of both, about the common mean."""
        *numbers, counts = (column.to_numpy(zero_copy_only=False)[groups.order] for column in columns)
        # parts without rows come last, so that their centres count for nothing
        first = _first_with_rows(counts, groups)
        shifted = _about(numbers, counts, [centre[first][groups.numbers] for centre in numbers[:2]])
        summed = [np.add.reduceat(part, groups.starts) for part in shifted[2:]]
        count = np.add.reduceat(counts, groups.starts)
        centres = [centre[first] for centre in numbers[:2]]
        divisor = np.where(count > 0, count, 1)
        means = [centre + part / divisor for centre, part in zip(centres, summed[:2], strict=True)]
        return [*map(pa.array, _about([*centres, *summed], count, means)), pa.array(count)]

    def finish(self, columns: Sequence[pa.Array]) -> pa.Array:
        """Return the results; NULL where the function is undefined."""
        y, x, _, _, yy, xx, xy, count = (column.to_numpy(zero_copy_only=False) for column in columns)
        spread = Spread(count, y, x, np.maximum(yy, 0), np.maximum(xx, 0), xy)
        with np.errstate(all="ignore"):
            values, has_value = RESULTS[self.function](spread)
        return pa.array(values, mask=~np.asarray(has_value & (count > 0)))


def _numbers(argument: pa.Array) -> Doubles:
    values: Doubles = argument.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
    return values


def _first_with_rows(counts: Longs, groups: Groups) -> Longs:
    places = np.where(counts > 0, np.arange(len(counts)), len(counts))
    first = np.minimum.reduceat(places, groups.starts)
    return np.where(first < len(counts), first, groups.starts)


def _about(parts: Sequence[Doubles], counts: Longs, centres: Sequence[Doubles]) -> list[Doubles]:
    """Shift the sums of moments to other centres."""
    y, x, sum_y, sum_x, yy, xx, xy = parts
    has_rows = counts > 0
    dy, dx = np.where(has_rows, y - centres[0], 0.0), np.where(has_rows, x - centres[1], 0.0)
    return [
        centres[0],
        centres[1],
        sum_y + counts * dy,
        sum_x + counts * dx,
        yy + 2 * dy * sum_y + counts * dy * dy,
        xx + 2 * dx * sum_x + counts * dx * dx,
        xy + dy * sum_x + dx * sum_y + counts * dy * dx,
    ]


Result: TypeAlias = "tuple[Doubles, np.ndarray[tuple[int], np.dtype[np.bool_]]]"


def _variance(*, sample: bool, root: bool) -> Callable[[Spread], Result]:
    def result(of: Spread) -> Result:
        values = of.yy / np.maximum(of.count - sample, 1)
        return (np.sqrt(values) if root else values), of.count > sample

    return result


def _covariance(*, sample: bool) -> Callable[[Spread], Result]:
    return lambda of: (of.xy / np.maximum(of.count - sample, 1), of.count > sample)


def _fits(of: Spread) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return (of.count > 1) & (of.xx > 0)


def _always(values: Doubles) -> Result:
    return values, np.ones(len(values), bool)


_CORRELATED: Callable[[Spread], Result] = lambda of: (  # noqa: E731 - an entry of the table below
    of.xy / np.sqrt(of.xx) / np.sqrt(of.yy),
    _fits(of) & (of.yy > 0),
)

RESULTS: Mapping[str, Callable[[Spread], Result]] = {
    "stddev": _variance(sample=True, root=True),
    "stddev_pop": _variance(sample=False, root=True),
    "var_samp": _variance(sample=True, root=False),
    "var_pop": _variance(sample=False, root=False),
    "covar_samp": _covariance(sample=True),
    "covar_pop": _covariance(sample=False),
    "corr": _CORRELATED,
    "regr_slope": lambda of: (of.xy / of.xx, _fits(of)),
    "regr_intercept": lambda of: (of.y - of.x * of.xy / of.xx, _fits(of)),
    "regr_r2": lambda of: (of.xy * of.xy / of.xx / of.yy, _fits(of) & (of.yy > 0)),
    "regr_avgx": lambda of: _always(of.x),
    "regr_avgy": lambda of: _always(of.y),
    "regr_sxx": lambda of: _always(of.xx),
    "regr_syy": lambda of: _always(of.yy),
    "regr_sxy": lambda of: _always(of.xy),
}
"""Formula of each function."""


def of_list(function: str, rows: Sequence[tuple[object, ...]]) -> object:
    """Compute the function exactly over a list of rows."""
    if not rows:
        return None
    ys, xs = [float(row[0]) for row in rows], [float(row[-1]) for row in rows]  # type: ignore[arg-type]
    y, x = math.fsum(ys) / len(rows), math.fsum(xs) / len(rows)
    y, x = (ys[0] if min(ys) == max(ys) else y), (xs[0] if min(xs) == max(xs) else x)
    squares = [
        math.fsum((a - b) * (c - d) for a, c in zip(first, second, strict=True))
        for first, b, second, d in ((ys, y, ys, y), (xs, x, xs, x), (ys, y, xs, x))
    ]
    numbers = [np.array([number]) for number in (y, x, *squares)]
    with np.errstate(all="ignore"):
        values, has_value = RESULTS[function](Spread(np.array([len(rows)]), *numbers))
    return float(values[0]) if has_value[0] else None


Row: TypeAlias = tuple[Any, ...]
ListFunction: TypeAlias = Callable[[Type, Sequence[Row]], object]
"""Computes a group's result of a type from the argument values of its rows; None is NULL."""

GATHERED = "_gather"
"""Not a function, but the rows themselves: the argument of a user-defined aggregate."""


def _half_way(kind: Type, low: Any, high: Any) -> object:
    """Return the mean of two values, truncated to the type."""
    match kind:
        case Integer():
            both = low + high
            return both // 2 if both >= 0 else -(-both // 2)
        case DecimalType(_, scale):
            with localcontext(prec=80):
                return ((low + high) / 2).quantize(Decimal(1).scaleb(-scale), rounding=ROUND_DOWN)
    return low if low == high else low / 2 + high / 2


def _median(kind: Type, rows: Sequence[Row]) -> object:
    values = sorted(row[0] for row in rows)
    return _half_way(kind, values[(len(values) - 1) // 2], values[len(values) // 2]) if values else None


def _percentile(kind: Type, rows: Sequence[Row]) -> object:
    """Return the mean of the values on both sides of the share."""
    if not rows:
        return None
    values, share = sorted(row[0] for row in rows), Decimal(repr(float(rows[0][1])))
    place = share * len(values)
    low, high = max(math.ceil(place), 1), min(math.floor(place) + 1, len(values))
    return _half_way(kind, values[low - 1], values[high - 1])


def _percentile_cont(_: Type, rows: Sequence[Row]) -> object:
    if not rows:
        return None
    values, place = _sorted(rows), rows[0][1] * (len(rows) - 1)
    low, high = values[math.floor(place)], values[math.ceil(place)]
    return low if low == high else low + (high - low) * (place - math.floor(place))


def _percentile_disc(_: Type, rows: Sequence[Row]) -> object:
    if not rows:
        return None
    return _sorted(rows)[max(math.ceil(Decimal(repr(float(rows[0][1]))) * len(rows)), 1) - 1]


def _mode(_: Type, rows: Sequence[Row]) -> object:
    """Return the least of the values that occur most often."""
    runs = [list(run) for _, run in groupby(_sorted(rows), key=_comparable)]
    return max(runs, key=len)[0] if runs else None


def _sorted(rows: Sequence[Row]) -> list[Any]:
    """Return the first arguments in their order, in which NaN is greater than every number."""
    return sorted((row[0] for row in rows), key=_comparable)


def _comparable(value: Any) -> tuple[bool, Any]:
    is_nan = isinstance(value, float) and math.isnan(value)
    return is_nan, 0.0 if is_nan else value


def _weighted_percentile(_: Type, rows: Sequence[Row]) -> object:
    """Return the value at which the weights, in the order of the values, reach that share of the number of rows."""
    passed, value = 0.0, None
    for row in sorted(rows):
        if value is not None and passed >= row[2] * len(rows):
            break
        value, passed = row[0], passed + row[1]
    return value


def _join(_: Type, rows: Sequence[Row]) -> object:
    return rows[0][1].join(row[0] for row in rows) if rows else None


def _gather(_: Type, rows: Sequence[Row]) -> object:
    return [{f"c{place}": value for place, value in enumerate(row)} for row in rows]


def _nth(_: Type, rows: Sequence[Row]) -> object:
    number = rows[0][1] if rows else 0
    place = number - 1 if number > 0 else len(rows) + number
    return rows[place][0] if 0 <= place < len(rows) else None


def _moments(name: str) -> ListFunction:
    return lambda _, rows: of_list(name, rows)


LISTS: Mapping[str, ListFunction] = {
    "median": _median,
    "percentile_cont": _percentile_cont,
    "percentile_disc": _percentile_disc,
    "mode": _mode,
    "approx_median": _median,
    "approx_percentile_cont": _percentile,
    "approx_percentile_cont_with_weight": _weighted_percentile,
    "approx_distinct": lambda _, rows: len({repr(row[0]) for row in rows}),
    "array_agg": lambda _, rows: [row[0] for row in rows] or None,
    GATHERED: _gather,
    "string_agg": _join,
    "first_value": lambda _, rows: rows[0][0] if rows else None,
    "last_value": lambda _, rows: rows[-1][0] if rows else None,
    "nth_value": _nth,
    "bit_and": lambda _, rows: reduce(and_, (row[0] for row in rows)) if rows else None,
    "bit_or": lambda _, rows: reduce(or_, (row[0] for row in rows)) if rows else None,
    **{name: _moments(name) for name in RESULTS},
}


def function_of(name: str, result: Type) -> Callable[[Sequence[Row]], object]:
    """Return the function of that name, with its result in that type."""
    return partial(LISTS[name], result)
