"""Windows whose rows are merged in the task of the source before Spark has them.

    WindowAggregate count(*), max(price) by hop(2 s, 10 s), auction % 7
      Filter hot
        Scan bids

    12:00:01  auction 3, price 5, hot          12:00:01  auction 3, 2 rows, max 8
    12:00:01  auction 10, price 8, hot    ->   12:00:02  auction 3, 1 row, max 1
    12:00:02  auction 3, price 1, hot

The first two rows are in one pane of two seconds and have the same key. What crosses looks like the first of them, so
windows, keys, late rows and the state come of it as of every row; only the aggregates read what was merged. This holds
where all tests have moved into the task, and every key is computed there as Spark computes it.

Sessions have no panes. There the rows of a burst are merged, each less than the gap after the one before it, and Spark
has the first of them with the time of the last one: a session that begins with the one and goes on from the other.

Updating aggregates heed no time but that of a key's last change: all rows of a key are merged, and cross at that time.
See docs/decisions/sources-leave-out-what-no-query-wants.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TypeAlias

from engine import types
from engine.plan.expressions.expr import Cast, Column, Expr, Member, Named, columns_of
from engine.plan.nodes import (
    Aggregate,
    Burst,
    Filter,
    Hop,
    NamedAggregate,
    Pane,
    Partials,
    Scan,
    Session,
    Tumble,
    UpdatingAggregate,
    Window,
    WindowAggregate,
    count_of,
)
from engine.plan.placement.descent import Descent, chain_of, descended
from engine.plan.tree import Node
from engine.schema import Schema

Aggregation: TypeAlias = WindowAggregate | UpdatingAggregate
_LONGEST_GAP = timedelta(days=366_000)
"""The length of a burst and its gap must be a Spark interval, which has twelve digits of seconds."""
_GROUPED = (
    types.Boolean | types.Integer | types.Float | types.Decimal | types.Text | types.Json | types.Timestamp | types.Date
)
_ORDERED = types.Boolean | types.Integer | types.Text | types.Timestamp | types.Date
"""Types whose least and greatest value is the same in Arrow and in Spark; NaN and -0.0 keep DOUBLE out."""


def with_partials(node: Aggregation, alone: frozenset[str]) -> Node | None:
    """Return the same aggregation over rows that the source task pre-aggregates, or None if it cannot. `alone` are the
    tables that are read in one place only."""
    chain, scan = chain_of(node.input)
    if not isinstance(scan, Scan) or scan.table not in alone or any(map(_is_like_ours, scan.columns.names)):
        return None
    stretch = None if isinstance(node, UpdatingAggregate) else _stretch(node.window)
    descent = descended(chain, scan)
    has_all_tests = descent.is_open and not any(isinstance(step, Filter) for step in descent.steps)
    if not has_all_tests or (stretch is None and isinstance(node, WindowAggregate)):
        return None
    keys = [Named(key.name, value) for key in node.keys if (value := _key(descent, key.expr)) is not None]
    aggregates = [
        replace(named, aggregate=aggregate)
        for named in node.aggregates
        if (aggregate := _aggregate(descent, named.aggregate)) is not None
    ]
    if len(keys) < len(node.keys) or len(aggregates) < len(node.aggregates):
        return None
    exprs = tuple(key.expr for key in keys)
    columns = _columns(scan, exprs)
    merged = Partials(scan, descent.condition, stretch, exprs, columns, _partials(node, aggregates))
    return replace(node, input=merged, keys=tuple(keys), aggregates=tuple(aggregates))


def _is_like_ours(name: str) -> bool:
    """Whether a column could be taken for one that merging adds."""
    return name.startswith("__")


def _stretch(window: Window) -> Pane | Burst | None:
    """The longest one of which all rows are in the same windows."""
    match window:
        case Tumble(width):
            return Pane(width)
        case Hop():
            return Pane(window.pane)
        case Session(gap) if gap < _LONGEST_GAP:
            return Burst(gap)
    return None


def _key(descent: Descent, key: Expr) -> Expr | None:
    return descent.read_off(key) if isinstance(key.type, _GROUPED) else None


def _columns(scan: Scan, keys: Sequence[Expr]) -> Schema:
    names = frozenset[str]().union(*map(columns_of, keys))
    return Schema(tuple(column for column in scan.columns if column.name in names))


def _partials(node: Aggregation, aggregates: Sequence[NamedAggregate]) -> tuple[NamedAggregate, ...]:
    """The different aggregates, but for the count of rows, which is always there. An updating sum is kept with how many
    numbers are in it."""
    different = dict.fromkeys(named.aggregate for named in aggregates if named.aggregate.arguments)
    if isinstance(node, UpdatingAggregate):
        different |= dict.fromkeys(count_of(aggregate) for aggregate in different if aggregate.function == "sum")
    return tuple(NamedAggregate(f"__partial{index}", aggregate) for index, aggregate in enumerate(different))


def _aggregate(descent: Descent, aggregate: Aggregate) -> Aggregate | None:
    """The aggregate, read off the scan, where partial ones of it are exact."""
    if aggregate.distinct or aggregate.order or aggregate.condition is not None:
        return None
    if not aggregate.arguments:
        return aggregate if aggregate.function == "count" else None
    if aggregate.function not in ("count", "sum", "min", "max"):
        return None
    argument = descent.read_off(aggregate.arguments[0])
    return replace(aggregate, arguments=(argument,)) if argument and _is_exact(aggregate, argument) else None


def _is_exact(aggregate: Aggregate, argument: Expr) -> bool:
    """Whether it is one of a column as it is read. Spark takes equal aggregates together, and would find others equal
    than we do if more were computed."""
    if aggregate.function == "sum":
        is_whole = isinstance(argument.type, types.Integer) and argument.type.signed
        return is_whole and _is_column(argument.input if isinstance(argument, Cast) and _widens(argument) else argument)
    return _is_column(argument) and isinstance(argument.type, _GROUPED if aggregate.function == "count" else _ORDERED)


def _widens(cast: Cast) -> bool:
    match cast.input.type, cast.type:
        case types.Integer(bits, True), types.Integer(wider, True):
            return bits < wider and not cast.lenient
    return False


def _is_column(expr: Expr) -> bool:
    return isinstance(expr, Column) or (isinstance(expr, Member) and _is_column(expr.input))
