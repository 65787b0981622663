"""DISTINCT aggregates in two steps: the stream part stores each value of a window once, the epoch part aggregates them.

    count(DISTINCT v), sum(n) of a window and key       rows (v, n): (a, 1), (a, 2), (b, 4)
    first step, in the stream, by window, key and v:    (a, 3), (b, 4)
    second step, when the window is complete:           count(v) = 2, sum(part) = 7

Spark's streams do not support DISTINCT. Grouped by the value as well, a window has a row per value, and other
aggregates are computed in two steps (docs/decisions/different-values-in-two-steps.md). If that is not equivalent
(sessions, and aggregates that cannot be combined from parts), values are collected in a set instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from engine import types
from engine.functions import AGGREGATES
from engine.plan.expressions.expr import Call, Case, Cast, Column, Expr, Literal, Named, is_nullable
from engine.plan.nodes import Aggregate, Carried, NamedAggregate, Project, Session, WindowAggregate, Write
from engine.plan.tree import Node, rewrite


def separate_distinct(writes: Sequence[Write]) -> tuple[Write, ...]:
    """Move DISTINCT aggregates out of the stream part, except those of sets."""
    return tuple(replace(write, input=rewrite(write.input, _separate)) for write in writes)


def is_separable(node: WindowAggregate) -> bool:
    """Whether all of its aggregates can be computed from one row for every value."""
    return not isinstance(node.window, Session) and all(
        _is_of_one_value(named.aggregate)
        if named.aggregate.distinct
        else _combined_by(named.aggregate) is not None or _is_mean(named.aggregate)
        for named in node.aggregates
    )


def without_sets(node: WindowAggregate) -> set[str]:
    """Return the aggregates whose DISTINCT cannot be computed from a set of values either."""
    distinct = {named.aggregate.function for named in node.aggregates if named.aggregate.distinct}
    return {name for name in distinct if not (_ignores_repeats(name) or _has_sets(name))}


def _separate(node: Node) -> Node:
    if not isinstance(node, WindowAggregate):
        return node
    plain = replace(node, aggregates=tuple(map(_plain, node.aggregates)))
    if node.is_incremental and any(named.aggregate.distinct for named in plain.aggregates) and is_separable(plain):
        return _in_two_steps(plain)
    return plain


def _plain(named: NamedAggregate) -> NamedAggregate:
    if named.aggregate.distinct and _ignores_repeats(named.aggregate.function):
        return replace(named, aggregate=replace(named.aggregate, distinct=False))
    return named


def _ignores_repeats(name: str) -> bool:
    return name in AGGREGATES and AGGREGATES[name].ignores_repeats


def _has_sets(name: str) -> bool:
    return name in AGGREGATES and AGGREGATES[name].distinct_by_set


def _combined_by(aggregate: Aggregate) -> str | None:
    function = AGGREGATES.get(aggregate.function)
    return None if function is None else function.combined_by


def _is_of_one_value(aggregate: Aggregate) -> bool:
    return all(isinstance(argument, Literal) for argument in aggregate.arguments[1:]) and all(
        order.expr == aggregate.arguments[0] for order in aggregate.order
    )


def _is_mean(aggregate: Aggregate) -> bool:
    return aggregate.function == "avg" and aggregate.type == types.DOUBLE


@dataclass(slots=True)
class _Steps:
    """Expressions of the two steps, and the mapping of their results."""

    values: list[Named] = field(default_factory=list)
    first: list[NamedAggregate] = field(default_factory=list)
    second: list[NamedAggregate] = field(default_factory=list)
    results: list[Named] = field(default_factory=list)

    def value(self, expr: Expr) -> Column:
        """Return the column of the first step for a value."""
        named = next((named for named in self.values if named.expr == expr), None)
        if named is None:
            named = Named(f"__value{len(self.values)}", expr)
            self.values.append(named)
        return Column(named.name, expr.type, is_nullable(expr))

    def part(self, aggregate: Aggregate) -> Column:
        """Return the column of the first step for an aggregate of the rows of one value."""
        named = NamedAggregate(f"__part{len(self.first)}", aggregate)
        self.first.append(named)
        return Column(named.name, aggregate.type, aggregate.nullable)

    def whole(self, aggregate: Aggregate) -> Column:
        """Return the column of the second step for an aggregate."""
        named = NamedAggregate(f"__whole{len(self.second)}", aggregate)
        self.second.append(named)
        return Column(named.name, aggregate.type, aggregate.nullable)


def _in_two_steps(node: WindowAggregate) -> Node:
    steps = _Steps()
    for named in node.aggregates:
        steps.results.append(Named(named.name, _result(steps, named.aggregate)))
    below = replace(node, keys=(*node.keys, *steps.values), aggregates=tuple(steps.first))
    keys = [(key.name, Column(key.name, key.expr.type, is_nullable(key.expr))) for key in node.keys]
    window = Column(node.window_name, types.WINDOW, nullable=False)
    above = WindowAggregate(
        below,
        Carried(node.window_name),
        node.window_name,
        tuple(Named(name, column) for name, column in keys),
        tuple(steps.second),
    )
    grouping = (*(Named(name, column) for name, column in keys), Named(node.window_name, window))
    return Project(above, (*grouping, *steps.results))


def _result(steps: _Steps, aggregate: Aggregate) -> Expr:
    if aggregate.distinct:
        return steps.whole(_of_values(steps, aggregate))
    if _is_mean(aggregate):
        return _mean(steps, aggregate)
    combining = _combined_by(aggregate)
    assert combining is not None, aggregate.function
    return steps.whole(Aggregate(combining, (steps.part(aggregate),), aggregate.type, aggregate.nullable))


def _of_values(steps: _Steps, aggregate: Aggregate) -> Aggregate:
    """Return the aggregate over the column of the values, which is empty for a row that its FILTER leaves out."""
    value = aggregate.arguments[0]
    if aggregate.condition is not None:
        value = Case(((aggregate.condition, value),), None, value.type)
    column = steps.value(value)
    order = tuple(replace(key, expr=column) for key in aggregate.order)
    return replace(aggregate, arguments=(column, *aggregate.arguments[1:]), condition=None, order=order)


def _mean(steps: _Steps, aggregate: Aggregate) -> Expr:
    total = Aggregate("sum", aggregate.arguments, types.DOUBLE, condition=aggregate.condition)
    count = Aggregate("count", aggregate.arguments, types.BIGINT, nullable=False, condition=aggregate.condition)
    sums, counts = steps.part(total), steps.part(count)
    whole = steps.whole(Aggregate("sum", (sums,), types.DOUBLE))
    number = steps.whole(Aggregate("sum", (counts,), types.BIGINT, nullable=False))
    some = Call(">", (number, Literal(0, types.BIGINT)), types.BOOLEAN, nullable=False)
    mean = Call("/", (whole, Cast(number, types.DOUBLE)), types.DOUBLE)
    return Case(((some, mean),), None, types.DOUBLE)
