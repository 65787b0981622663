"""Parse calls of aggregates with their clauses.

    array_agg(DISTINCT name ORDER BY at) FILTER (WHERE at > start)
    percentile(0.5) WITHIN GROUP (ORDER BY value)

For the parser, DISTINCT and ORDER BY are inside the call, and the other clauses are wrapped around it.

Choose the relation of an aggregation or DISTINCT: within a window, or over all rows.

    rows with a window           WindowAggregate: one row per window and key, once, when the window closes
    rows without one             UpdatingAggregate: one row per key, replaced when it changes
    rows with a window that
    GROUP BY drops               refused: their groups would be neither complete nor updated
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from sqlglot import exp

from engine import types
from engine.errors import FunctionArgumentsError, UnsupportedClauseError, UpdatingQueryError, WindowMismatchError
from engine.functions import AggregateFunction, find_aggregate
from engine.plan.expressions.calls import coerce
from engine.plan.expressions.expr import Cast, Expr, Literal
from engine.plan.nodes import (
    Aggregate,
    Carried,
    EventTimeOver,
    Order,
    Project,
    UpdatingAggregate,
    WindowAggregate,
    is_updating,
    pass_through,
    window_of,
)
from engine.plan.rules.separate_distinct import is_separable, without_sets
from engine.plan.tree import Node, walk, walk_once
from engine.sql.query.windows import is_window_call
from engine.sql.scalar.comparisons import make_call
from engine.sql.scalar.expressions import Expressions


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """A call as written: the bare call, and its clauses."""

    call: exp.Anonymous
    function: AggregateFunction
    conditions: tuple[exp.Expr, ...] = ()
    within_group: tuple[exp.Ordered, ...] = ()
    ignores_nulls: bool = False


def is_aggregate_call(node: exp.Expr) -> bool:
    """Whether the expression is only the call of an aggregate."""
    return isinstance(node, exp.Anonymous) and find_aggregate(node.name.lower()) is not None


def has_aggregate(nodes: Sequence[exp.Expr]) -> bool:
    """Whether an aggregate or a window is called in one of the expressions, outside of sub-queries."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if is_window_call(node) or is_aggregate_call(node):
            return True
        if not isinstance(node, exp.Query | exp.Window):
            stack.extend(node.iter_expressions())
    return False


def read_aggregate(node: exp.Expr) -> AggregateCall | None:
    """Return the expression as the call of an aggregate, or None."""
    conditions: tuple[exp.Expr, ...] = ()
    within_group: tuple[exp.Ordered, ...] = ()
    ignores_nulls = False
    while isinstance(node, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
        match node:
            case exp.Filter():
                conditions = (*conditions, node.expression.this)
            case exp.WithinGroup():
                within_group = tuple(node.expression.expressions)
            case exp.IgnoreNulls():
                ignores_nulls = True
        node = node.this
    function = find_aggregate(node.name.lower()) if isinstance(node, exp.Anonymous) else None
    if function is None or not isinstance(node, exp.Anonymous):
        return None
    return AggregateCall(node, function, conditions, within_group, ignores_nulls)


def translate_aggregate(call: AggregateCall, inputs: Expressions) -> Aggregate:
    """Return the aggregate over the rows that `inputs` reads."""
    written = _WrittenArguments.of(call.call)
    function = call.function
    arguments = [] if written.is_star else [inputs.translate(argument) for argument in written.arguments]
    order = tuple(_translate_order(item, inputs) for item in (*written.order, *call.within_group))
    if call.within_group and not (function.is_ordered or function.within_group):
        raise UnsupportedClauseError(f"{function.name} is the same in any order", hint=f"use it as {function.usage}")
    if function.within_group and order:
        # percentile(p) WITHIN GROUP (ORDER BY value) says what percentile(value, p) says
        _check_single_order(function, order, written)
        arguments, order = [order[0].expr, *arguments], ()
    condition = _condition_of(call, written, arguments, inputs)
    aggregate = resolve_aggregate(function, arguments, is_star=written.is_star)
    return replace(
        aggregate, distinct=written.distinct, condition=condition, order=order if function.is_ordered else ()
    )


def _check_single_order(function: AggregateFunction, order: Sequence[Order], written: _WrittenArguments) -> None:
    if len(order) > 1 or order[0].descending or written.order:
        raise UnsupportedClauseError(f"{function.name} takes one ascending order", hint=f"use it as {function.usage}")


def _condition_of(
    call: AggregateCall, written: _WrittenArguments, arguments: Sequence[Expr], inputs: Expressions
) -> Expr | None:
    """Return the condition on aggregated rows: FILTER, combined with IGNORE NULLS."""
    condition: Expr | None = None
    for node in call.conditions:
        further = inputs.condition(node)
        condition = further if condition is None else make_call("and", [condition, further])
    if not (call.ignores_nulls or written.ignores_nulls):
        return condition
    if not call.function.is_ordered:
        raise UnsupportedClauseError(f"{call.function.name} never looks at NULLs", hint="leave out IGNORE NULLS")
    is_value = make_call("not", [make_call("is_null", arguments[:1])])
    return is_value if condition is None else make_call("and", [condition, is_value])


@dataclass(frozen=True, slots=True)
class _WrittenArguments:
    """Content of the parentheses."""

    arguments: tuple[exp.Expr, ...]
    order: tuple[exp.Ordered, ...] = ()
    distinct: bool = False
    ignores_nulls: bool = False

    @property
    def is_star(self) -> bool:
        return len(self.arguments) == 1 and isinstance(self.arguments[0], exp.Star)

    @staticmethod
    def of(call: exp.Anonymous) -> _WrittenArguments:
        """Return the arguments of a call. The parser attaches a clause around the last one, or puts it after it."""
        written = _WrittenArguments(tuple(call.expressions))
        while written.arguments:
            *before, last = written.arguments
            arguments = (*before,) if last.this is None else (*before, last.this)
            match last:
                case exp.Order():
                    written = replace(written, arguments=arguments, order=tuple(last.expressions))
                case exp.IgnoreNulls():
                    written = replace(written, arguments=arguments, ignores_nulls=True)
                case exp.RespectNulls():
                    written = replace(written, arguments=arguments)
                case exp.Distinct() if not before:
                    written = replace(written, arguments=tuple(last.expressions), distinct=True)
                case _:
                    break
        return written


def _translate_order(item: exp.Ordered, inputs: Expressions) -> Order:
    return Order(inputs.translate(item.this), bool(item.args.get("desc")), bool(item.args.get("nulls_first")))


def resolve_aggregate(function: AggregateFunction, arguments: Sequence[Expr], *, is_star: bool) -> Aggregate:
    """Return the aggregate of those arguments, cast to its parameters."""
    signature = function.resolve([argument.type for argument in arguments])
    if signature is None or (is_star and not function.takes_star):
        listing = "*" if is_star else ", ".join(str(argument.type) for argument in arguments)
        raise FunctionArgumentsError(f"{function.name} does not take ({listing})", hint=f"use it as {function.usage}")
    _check_constants(function, arguments)
    inputs = tuple(coerce(argument, kind) for argument, kind in zip(arguments, signature.arguments, strict=True))
    return Aggregate(function.name, inputs, signature.result, function.nullable, takes=function.takes)


def _check_constants(function: AggregateFunction, arguments: Sequence[Expr]) -> None:
    for index, accepts in function.constants.items():
        if index < len(arguments) and not accepts(_constant_of(arguments[index])):
            raise FunctionArgumentsError(
                f"argument {index + 1} of {function.name} must be a constant that it accepts",
                hint=f"use it as {function.usage}",
            )


def _constant_of(expr: Expr) -> object:
    match expr:
        case Literal(value) if not isinstance(expr.type, types.Null):
            return value
        case Cast(inner):
            return _constant_of(inner)
    return None


def distinct_rows(rows: Node, ttl: timedelta) -> Node:
    """Return each row once: within its window if the rows carry one, else as a changelog."""
    columns = pass_through(rows.schema)
    _, window_column = window_of(rows) or (None, None)
    if window_column is None:
        return check_updating(UpdatingAggregate(rows, columns, (), ttl))
    keys = tuple(column for column in columns if column.name != window_column)
    return Project(WindowAggregate(rows, Carried(window_column), window_column, keys, ()), columns)


def check_updating(aggregate: UpdatingAggregate) -> UpdatingAggregate:
    """Return the aggregation over all rows so far; raise over rows of windows, which arrive only once."""
    if any(isinstance(node, WindowAggregate) for node in walk(aggregate.input)):
        raise WindowMismatchError(
            "an aggregate of rows that have a window must be grouped by the window",
            hint="add the window field of the input to GROUP BY, or to what is selected",
        )
    return aggregate


def check_windowed(aggregate: WindowAggregate) -> WindowAggregate:
    """Return the aggregation within windows; raise over changelog rows, and for distinct values that two steps cannot
    compute."""
    if is_updating(aggregate.input):
        raise UpdatingQueryError(
            "a time window cannot be closed over rows that are changed afterwards",
            hint="aggregate within the window first, or leave the window out",
        )
    if any(isinstance(node, EventTimeOver) for node in walk_once(aggregate.input)):
        raise WindowMismatchError(
            "a time window cannot be opened over OVER by event time: its rows come when the watermark has passed them",
            hint="aggregate within the window first, and use OVER (PARTITION BY window ...) around it",
        )
    if aggregate.is_incremental and not is_separable(aggregate) and (names := without_sets(aggregate)):
        raise UnsupportedClauseError(
            f"{min(names)}(DISTINCT ...) cannot be computed in a session, nor beside an "
            "aggregate that must see all rows",
            hint="group by the value as well, and aggregate by the window again",
        )
    return aggregate
