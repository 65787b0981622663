"""What Spark keeps of the aggregates of a window: by this a state can be laid out for other aggregates.

    count(*), sum(price)     price DECIMAL(20, 2)      count; sum, isEmpty

Only what is known here is moved. That Spark has the very columns is seen before anything is moved: a version of it that
keeps something else is found out, and nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from engine.plan.expressions.expr import is_nullable
from engine.plan.nodes import Aggregate
from engine.types import Decimal

Start: TypeAlias = Literal["null", "zero", "true"]


@dataclass(frozen=True, slots=True)
class WindowColumn:
    """A column of the state of a window, and what is in it before the first row."""

    name: str
    start: Start


_LONG_DIGITS = 18
_SUMMED_DIGITS = 10
"""Spark adds up decimals as whole numbers where so many more digits still fit into a BIGINT."""
_DOUBLE_DIGITS, _MEAN_DIGITS = 15, 4
"""Means of decimals are computed as DOUBLE where so many more digits fit into one."""
_COUNT = (WindowColumn("count", "zero"),)
_MEAN = (WindowColumn("sum", "zero"), *_COUNT)
_LEAST, _GREATEST = (WindowColumn("min", "null"),), (WindowColumn("max", "null"),)
_IS_SET = WindowColumn("valueSet", "zero")
_MOMENTS = tuple(WindowColumn(name, "zero") for name in ("n", "avg", "m2"))
_COLUMNS = {
    "count": _COUNT, "avg": _MEAN, "min": _LEAST, "max": _GREATEST, "bool_and": _LEAST, "bool_or": _GREATEST,
    "bit_and": (WindowColumn("bit_and", "null"),), "bit_or": (WindowColumn("bit_or", "null"),),
    "bit_xor": (WindowColumn("bit_xor", "null"),),
    "first_value": (WindowColumn("first", "null"), _IS_SET), "last_value": (WindowColumn("last", "null"), _IS_SET),
    "stddev": _MOMENTS, "stddev_pop": _MOMENTS, "var_samp": _MOMENTS, "var_pop": _MOMENTS,
}  # fmt: skip


def columns_of_aggregate(aggregate: Aggregate) -> tuple[WindowColumn, ...] | None:
    """The columns that a window keeps of an aggregate; None where that is not known."""
    if aggregate.distinct or aggregate.order:
        return None
    if aggregate.function == "sum":
        match aggregate.arguments[0].type:
            case Decimal(precision) if precision + _SUMMED_DIGITS > _LONG_DIGITS:
                return WindowColumn("sum", "zero"), WindowColumn("isEmpty", "true")
        return (WindowColumn("sum", "null"),)
    return _COLUMNS.get(aggregate.function)


def origins_of(old: Aggregate, new: Aggregate, first: int) -> Iterator[str | None]:
    """For each column of an aggregate how it is made of those of the same one over narrower numbers, the first of which
    has the place `first`: as it is there, or cast to its type; from what was a whole number, which had no column that
    says whether there is any. None where it cannot be made."""
    before, after = columns_of_aggregate(old) or (), columns_of_aggregate(new) or ()
    if len(before) < len(after):
        scale = old.arguments[0].type.scale if isinstance(old.arguments[0].type, Decimal) else 0
        yield from (f"decimal:{first}:{scale}", f"absent:{first}")
        return
    is_other_mean = new.function == "avg" and _is_mean_of_doubles(old) != _is_mean_of_doubles(new)
    yield from (None if is_other_mean else str(first + number) for number in range(len(after)))


def _is_mean_of_doubles(mean: Aggregate) -> bool:
    """Whether Spark adds up the numbers of a mean as DOUBLE."""
    kind = mean.arguments[0].type
    return not isinstance(kind, Decimal) or kind.precision + _MEAN_DIGITS <= _DOUBLE_DIGITS


def are_kept_apart(aggregates: Sequence[Aggregate]) -> bool:
    """Whether no two of the aggregates of a window are one and the same to Spark, which keeps such but once."""
    same = [(columns_of_aggregate(aggregate), _counted(aggregate), aggregate.condition) for aggregate in aggregates]
    return all(first not in same[:place] for place, first in enumerate(same))


def _counted(aggregate: Aggregate) -> object:
    """Return what an aggregate counts. Counts of values that are never NULL equal counts of rows."""
    counts_rows = aggregate.function == "count" and not any(map(is_nullable, aggregate.arguments))
    return () if counts_rows else aggregate.arguments
