"""Aggregates that are computed from all values of a group."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_DOWN, Decimal, localcontext
from functools import partial, reduce
from operator import and_, or_
from typing import Any, TypeAlias

from engine.types import Decimal as DecimalType
from engine.types import Integer, Type
from engine.updating.accumulators.moments import RESULTS, of_list

Row: TypeAlias = tuple[Any, ...]
ListFunction: TypeAlias = Callable[[Type, Sequence[Row]], object]
"""Computes a group's result of a type from the argument values of its rows; None is NULL."""

GATHERED = "_gather"
"""Not a function, but the rows themselves: the argument of a user-defined aggregate."""


def _half_way(kind: Type, low: Any, high: Any) -> object:
    """The mean of two values; what the type cannot hold of it is cut off."""
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
    """Half-way between the values on both sides of the share."""
    if not rows:
        return None
    values, share = sorted(row[0] for row in rows), Decimal(repr(float(rows[0][1])))
    place = share * len(values)
    low, high = max(math.ceil(place), 1), min(math.floor(place) + 1, len(values))
    return _half_way(kind, values[low - 1], values[high - 1])


def _weighted_percentile(_: Type, rows: Sequence[Row]) -> object:
    """The value at which the weights, in the order of the values, reach that share of the number of rows."""
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
    """The function of that name, with its result in that type."""
    return partial(LISTS[name], result)
