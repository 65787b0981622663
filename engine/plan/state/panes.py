"""Windows whose state is stored by pane: the longest period in which all rows are in the same windows.

    hop(2 s, 10 s), count(*) by auction      by window and auction        each row in five of them
                                             by pane of 2 s and auction   each row in one; windows are computed from
                                                                          their panes when they close

This is a property of the state, and chosen when a state begins. Only exactly additive aggregates are supported. See
docs/decisions/windows-can-be-kept-by-pane.md.

Columns that Spark stores for the aggregates of a window, so that a state can be migrated.

    count(*), sum(price)     price DECIMAL(20, 2)      count; sum, isEmpty

Only known cases are migrated. The columns are compared with Spark's before a migration, so a version of Spark that
stores others is detected.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal, TypeAlias

from engine import types
from engine.plan.expressions.expr import is_nullable
from engine.plan.nodes import Aggregate, ByPane, Hop, Window, WindowAggregate
from engine.plan.placement.split import Parts
from engine.plan.state.operators import Operator, is_stateful
from engine.plan.tree import Node, inputs_of, walk, with_inputs
from engine.types import Decimal, Type

LEAST_WINDOWS, MOST_WINDOWS = 3, 1_000
"""Smallest and largest number of windows per row. With one, the state is not smaller by pane, and a count by key needs
a third more CPU; with five it needs a fifth less. When windows close, each pane is expanded into as many rows."""
_ORDERED = types.Boolean | types.Integer | types.Text | types.Timestamp | types.Date
"""Types whose minimum and maximum are the same in Arrow and in Spark."""


def fit_for_panes(operators: Sequence[Operator]) -> frozenset[int]:
    """Return the numbers of the operators whose state can be stored by pane: nothing else above and below them keeps
    state."""
    read = {number for operator in operators for number in operator.below}
    return frozenset(
        operator.number
        for operator in operators
        if operator.number not in read and not operator.below and is_fit(operator)
    )


def is_fit(operator: Operator) -> bool:
    """Whether windows with such keys and aggregates can be stored by pane."""
    node = operator.node
    if not isinstance(node, WindowAggregate) or not _is_fit_window(node.window):
        return False
    has_fit_keys = all(_is_fit_key(key.expr.type) for key in node.keys)
    return has_fit_keys and all(_is_summed_exactly(named.aggregate) for named in node.aggregates)


def with_panes(parts: Parts, numbers: Collection[int], operators: Sequence[Operator]) -> Parts:
    """Return the plan, whose operators these are, with the state of some of them stored by pane."""
    if not numbers:
        return parts
    counted = count()
    return replace(parts, branches=tuple(_marked(branch, numbers, operators, counted) for branch in parts.branches))


def as_it_begins(parts: Parts, operators: Sequence[Operator]) -> Parts:
    """Return the plan, whose operators these are, for a start without state that may be stored by pane."""
    return with_panes(parts, fit_for_panes(operators), operators)


def panes_in(parts: Parts) -> Collection[int]:
    """Return the numbers of the operators of a plan whose state is kept by pane."""
    nodes = (node for branch in parts.branches for node in walk(branch) if is_stateful(node))
    return {
        number for number, node in enumerate(nodes) if isinstance(node, WindowAggregate) and node.by_pane is not None
    }


def _marked(node: Node, numbers: Collection[int], operators: Sequence[Operator], counted: Iterator[int]) -> Node:
    number = next(counted) if is_stateful(node) else None
    changed = with_inputs(node, [_marked(below, numbers, operators, counted) for below in inputs_of(node)])
    if number is None or number not in numbers:
        return changed
    assert isinstance(changed, WindowAggregate)
    first = len(changed.keys)
    texts = [part.meaning for part in operators[number].columns[first : first + len(changed.aggregates)]]
    return replace(changed, by_pane=ByPane(tuple(texts)))


def _is_fit_window(window: Window) -> bool:
    return isinstance(window, Hop) and LEAST_WINDOWS <= window.width // window.slide < MOST_WINDOWS


def _is_fit_key(kind: Type) -> bool:
    """Whether equal values of the type have equal bits: NaN and -0.0 of DOUBLE do not."""
    match kind:
        case types.Integer(_, signed):
            return signed
        case types.Boolean() | types.Text() | types.Timestamp() | types.Date():
            return True
    return False


def _is_summed_exactly(aggregate: Aggregate) -> bool:
    if aggregate.distinct or aggregate.order or aggregate.condition is not None:
        return False
    kinds = [argument.type for argument in aggregate.arguments]
    match aggregate.function, kinds:
        case "count", _:
            return True
        case "sum", [types.Integer(_, signed)]:
            return signed and isinstance(aggregate.type, types.Integer)
        case "min" | "max", [kind]:
            return isinstance(kind, _ORDERED)
    return False


Start: TypeAlias = Literal["null", "zero", "true"]


@dataclass(frozen=True, slots=True)
class WindowColumn:
    """A column of a window's state, and its initial value."""

    name: str
    start: Start


_LONG_DIGITS = 18
_SUMMED_DIGITS = 10
"""Spark adds decimals as whole numbers if this many more digits fit into a BIGINT."""
_DOUBLE_DIGITS, _MEAN_DIGITS = 15, 4
"""Spark computes means of decimals as DOUBLE if this many more digits fit into one."""
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
    """Return the columns of a window's state for an aggregate; None if they are unknown."""
    if aggregate.distinct or aggregate.order:
        return None
    if aggregate.function == "sum":
        match aggregate.arguments[0].type:
            case Decimal(precision) if precision + _SUMMED_DIGITS > _LONG_DIGITS:
                return WindowColumn("sum", "zero"), WindowColumn("isEmpty", "true")
        return (WindowColumn("sum", "null"),)
    return _COLUMNS.get(aggregate.function)


def origins_of(old: Aggregate, new: Aggregate, first: int) -> Iterator[str | None]:
    """Return how to build each column of an aggregate from those of the same one over narrower numbers, whose first
    column has the position `first`: unchanged, cast to its type, or from a whole number, which had no column for
    absence. None if it cannot be built."""
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
    """Whether no two aggregates of a window are equal for Spark, which stores equal ones once."""
    same = [(columns_of_aggregate(aggregate), _counted(aggregate), aggregate.condition) for aggregate in aggregates]
    return all(first not in same[:place] for place, first in enumerate(same))


def _counted(aggregate: Aggregate) -> object:
    """Return what an aggregate counts. Counts of values that are never NULL equal counts of rows."""
    counts_rows = aggregate.function == "count" and not any(map(is_nullable, aggregate.arguments))
    return () if counts_rows else aggregate.arguments
