"""Calls of aggregates, with everything that can stand behind their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from engine import types
from engine.errors import FunctionArgumentsError, UnsupportedClauseError
from engine.functions import AggregateFunction, find_aggregate
from engine.plan.calls import coerce
from engine.plan.expr import Cast, Expr, Literal
from engine.plan.nodes import Aggregate, Order
from engine.sql.scalar.expressions import Expressions, make_call


@dataclass(frozen=True, slots=True)
class WrittenAggregate:
    """A call as it was written: the bare call, and what stands around it."""

    call: exp.Anonymous
    function: AggregateFunction
    condition: exp.Expr | None = None
    within: tuple[exp.Ordered, ...] = ()
    ignores_nulls: bool = False


def read_aggregate(node: exp.Expr) -> WrittenAggregate | None:
    """The call of an aggregate that this is, or None."""
    condition: exp.Expr | None = None
    within: tuple[exp.Ordered, ...] = ()
    ignores_nulls = False
    while isinstance(node, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
        match node:
            case exp.Filter():
                condition = node.expression.this
            case exp.WithinGroup():
                within = tuple(node.expression.expressions)
            case exp.IgnoreNulls():
                ignores_nulls = True
        node = node.this
    function = find_aggregate(node.name.lower()) if isinstance(node, exp.Anonymous) else None
    if function is None or not isinstance(node, exp.Anonymous):
        return None
    return WrittenAggregate(node, function, condition, within, ignores_nulls)


def translate_aggregate(written: WrittenAggregate, inner: Expressions) -> Aggregate:
    """The aggregate over the rows that `inner` knows."""
    parts = _Parts.of(written.call)
    function = written.function
    arguments = [] if parts.is_star else [inner.translate(one) for one in parts.arguments]
    order = tuple(_order(one, inner) for one in (*parts.order, *written.within))
    if written.within and not (function.is_ordered or function.within_group):
        raise UnsupportedClauseError(f"{function.name} is the same in any order", hint=f"use it as {function.usage}")
    if function.within_group and order:
        # percentile(p) WITHIN GROUP (ORDER BY value) says what percentile(value, p) says
        if len(order) > 1 or order[0].descending or parts.order:
            raise UnsupportedClauseError(
                f"{function.name} takes one ascending order", hint=f"use it as {function.usage}"
            )
        arguments, order = [order[0].expr, *arguments], ()
    condition = None if written.condition is None else inner.condition(written.condition)
    if written.ignores_nulls or parts.ignores_nulls:
        if not function.is_ordered:
            raise UnsupportedClauseError(f"{function.name} never looks at NULLs", hint="leave out IGNORE NULLS")
        there = make_call("not", [make_call("is_null", arguments[:1])])
        condition = there if condition is None else make_call("and", [condition, there])
    given = resolve_aggregate(function, arguments, is_star=parts.is_star)
    heeded = order if function.is_ordered else ()
    return replace(given, distinct=parts.distinct, condition=condition, order=heeded)


@dataclass(frozen=True, slots=True)
class _Parts:
    """What stands between the parentheses."""

    arguments: tuple[exp.Expr, ...]
    order: tuple[exp.Ordered, ...] = ()
    distinct: bool = False
    ignores_nulls: bool = False

    @property
    def is_star(self) -> bool:
        return len(self.arguments) == 1 and isinstance(self.arguments[0], exp.Star)

    @staticmethod
    def of(call: exp.Anonymous) -> _Parts:
        found = _Parts(tuple(call.expressions))
        while found.arguments:
            last = found.arguments[-1]
            before = found.arguments[:-1]
            # behind such a clause there may be nothing that it belongs to
            inside = before if last.this is None else (*before, last.this)
            match last:
                case exp.Order():
                    found = replace(found, arguments=inside, order=tuple(last.expressions))
                case exp.IgnoreNulls():
                    found = replace(found, arguments=inside, ignores_nulls=True)
                case exp.RespectNulls():
                    found = replace(found, arguments=inside)
                case exp.Distinct() if not before:
                    found = replace(found, arguments=tuple(last.expressions), distinct=True)
                case _:
                    break
        return found


def _order(item: exp.Ordered, inner: Expressions) -> Order:
    return Order(inner.translate(item.this), bool(item.args.get("desc")), bool(item.args.get("nulls_first")))


def resolve_aggregate(function: AggregateFunction, arguments: Sequence[Expr], *, is_star: bool) -> Aggregate:
    """The aggregate of those arguments, cast to what it takes."""
    signature = function.resolve([one.type for one in arguments])
    fits = signature is not None and (function.takes_star or not is_star)
    if signature is None or not fits:
        given = "*" if is_star else ", ".join(str(one.type) for one in arguments)
        raise FunctionArgumentsError(f"{function.name} does not take ({given})", hint=f"use it as {function.usage}")
    for index, accepts in function.constants.items():
        if index < len(arguments) and not accepts(_constant(arguments[index])):
            raise FunctionArgumentsError(
                f"argument {index + 1} of {function.name} must be a constant that it accepts",
                hint=f"use it as {function.usage}",
            )
    cast = tuple(coerce(one, kind) for one, kind in zip(arguments, signature.arguments, strict=True))
    return Aggregate(function.name, cast, signature.result, function.nullable, takes=function.takes)


def _constant(expr: Expr) -> object:
    match expr:
        case Literal(value) if not isinstance(expr.type, types.Null):
            return value
        case Cast(inner):
            return _constant(inner)
    return None
