"""Functions of all values of a group, in the order in which they first came."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import and_, or_
from statistics import median
from typing import Any, TypeAlias

from engine import types
from engine.types import Type

Row: TypeAlias = tuple[Any, ...]
ListFunction: TypeAlias = Callable[[Sequence[Row]], object]
"""Gives a group's result from the argument values of its rows; None is NULL."""

GATHERED = "_gathered"
"""No function, but the rows themselves: what an aggregate of the user's is called with."""
KEEPS_NULLS = frozenset({"array_agg", "first_value", "last_value", "nth_value", GATHERED})
"""Functions to which NULL is a value; all others never see a row of which an argument is NULL."""


def function_of(name: str, kinds: Sequence[Type]) -> ListFunction:
    """The function of that name over rows of such types."""
    if name == "median" and isinstance(kinds[0], types.Integer):
        return _middle
    return LISTS[name]


def _median(rows: Sequence[Row]) -> object:
    return median(row[0] for row in rows) if rows else None


def _middle(rows: Sequence[Row]) -> object:
    """The middle value; of two, the whole number between them."""
    if not rows:
        return None
    found = median(row[0] for row in rows)
    return math.trunc(found)


def _array(rows: Sequence[Row]) -> object:
    return [row[0] for row in rows] or None


def _gathered(rows: Sequence[Row]) -> object:
    return [{f"c{place}": value for place, value in enumerate(row)} for row in rows]


def _joined(rows: Sequence[Row]) -> object:
    if not rows:
        return None
    text = rows[0][0]
    for row in rows[1:]:
        text += (row[1] if len(row) > 1 else "") + row[0]
    return text


def _moment(sample: bool, root: bool) -> ListFunction:
    def result(rows: Sequence[Row]) -> object:
        count = len(rows)
        if count < (2 if sample else 1):
            return None
        mean = math.fsum(row[0] for row in rows) / count
        spread = math.fsum((row[0] - mean) ** 2 for row in rows) / (count - sample)
        return math.sqrt(spread) if root else spread

    return result


def _pairs(rows: Sequence[Row]) -> tuple[int, float, float, float, float, float]:
    """How many, the means of y and x, and the sums of squares of y, of x and of both about the means."""
    count = len(rows)
    mean_y = math.fsum(row[0] for row in rows) / count
    mean_x = math.fsum(row[1] for row in rows) / count
    yy = math.fsum((row[0] - mean_y) ** 2 for row in rows)
    xx = math.fsum((row[1] - mean_x) ** 2 for row in rows)
    xy = math.fsum((row[0] - mean_y) * (row[1] - mean_x) for row in rows)
    return count, mean_y, mean_x, yy, xx, xy


def _of_pairs(make: Callable[[int, float, float, float, float, float], object], least: int = 1) -> ListFunction:
    return lambda rows: make(*_pairs(rows)) if len(rows) >= least else None


def _corr(_n: int, _y: float, _x: float, yy: float, xx: float, xy: float) -> object:
    return xy / math.sqrt(yy * xx) if yy > 0 and xx > 0 else None


def _slope(_n: int, _y: float, _x: float, _yy: float, xx: float, xy: float) -> object:
    return xy / xx if xx > 0 else None


def _intercept(_n: int, y: float, x: float, _yy: float, xx: float, xy: float) -> object:
    return y - x * xy / xx if xx > 0 else None


def _r2(_n: int, _y: float, _x: float, yy: float, xx: float, xy: float) -> object:
    if xx <= 0:
        return None
    return 1.0 if yy == 0 else xy * xy / (xx * yy)


def _percentile(rows: Sequence[Row]) -> object:
    """Between the two nearest values; the last argument says where."""
    if not rows:
        return None
    values, part = sorted(row[0] for row in rows), float(rows[0][1])
    place = part * (len(values) - 1)
    low = math.floor(place)
    high = min(low + 1, len(values) - 1)
    found = values[low] + (values[high] - values[low]) * (place - low)
    return math.trunc(found) if isinstance(values[0], int) else found


def _weighted_percentile(rows: Sequence[Row]) -> object:
    """Between the values whose middles of weight are nearest."""
    weighted = sorted((row[0], float(row[1])) for row in rows if row[1] > 0)
    if not weighted:
        return None
    target = float(rows[0][2]) * sum(weight for _, weight in weighted)
    passed, before = 0.0, None
    for value, weight in weighted:
        middle = passed + weight / 2
        if middle >= target:
            if before is None:
                return value
            share = (target - before[0]) / (middle - before[0])
            found = before[1] + (value - before[1]) * share
            return math.trunc(found) if isinstance(value, int) else found
        passed, before = passed + weight, (middle, value)
    return weighted[-1][0]


_var_samp, _var_pop = _moment(sample=True, root=False), _moment(sample=False, root=False)
_std_samp, _std_pop = _moment(sample=True, root=True), _moment(sample=False, root=True)

LISTS: Mapping[str, ListFunction] = {
    "median": _median,
    "approx_median": _median,
    "approx_distinct": lambda rows: len({row[0] for row in rows}),
    "approx_percentile_cont": _percentile,
    "percentile_cont": _percentile,
    "approx_percentile_cont_with_weight": _weighted_percentile,
    "array_agg": _array,
    GATHERED: _gathered,
    "string_agg": _joined,
    "first_value": lambda rows: rows[0][0] if rows else None,
    "last_value": lambda rows: rows[-1][0] if rows else None,
    "nth_value": lambda rows: rows[rows[0][1] - 1][0] if rows and 1 <= rows[0][1] <= len(rows) else None,
    "bit_and": lambda rows: reduce(and_, (row[0] for row in rows)) if rows else None,
    "bit_or": lambda rows: reduce(or_, (row[0] for row in rows)) if rows else None,
    "var": _var_samp,
    "var_samp": _var_samp,
    "var_sample": _var_samp,
    "var_pop": _var_pop,
    "var_population": _var_pop,
    "stddev": _std_samp,
    "stddev_samp": _std_samp,
    "stddev_pop": _std_pop,
    "covar": _of_pairs(lambda n, y, x, yy, xx, xy: xy / (n - 1), 2),
    "covar_samp": _of_pairs(lambda n, y, x, yy, xx, xy: xy / (n - 1), 2),
    "covar_pop": _of_pairs(lambda n, y, x, yy, xx, xy: xy / n),
    "corr": _of_pairs(_corr, 2),
    "regr_count": len,
    "regr_avgx": _of_pairs(lambda n, y, x, yy, xx, xy: x),
    "regr_avgy": _of_pairs(lambda n, y, x, yy, xx, xy: y),
    "regr_sxx": _of_pairs(lambda n, y, x, yy, xx, xy: xx),
    "regr_syy": _of_pairs(lambda n, y, x, yy, xx, xy: yy),
    "regr_sxy": _of_pairs(lambda n, y, x, yy, xx, xy: xy),
    "regr_slope": _of_pairs(_slope, 2),
    "regr_intercept": _of_pairs(_intercept, 2),
    "regr_r2": _of_pairs(_r2, 2),
}
