"""Limit a ranking to its first places if only those are requested; then it also stores no others if possible.

    Filter place <= 3 AND price > 10          Filter price > 10
      Project name, price, place         ->     Project name, price, place
        UpdatingTop as place                      UpdatingTop 3 rows as place

`place = 3` limits the ranking to three as well, but stays: it drops the first and the second place. Of two limits the
smaller counts. A condition that no place satisfies stays an ordinary filter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.plan.expressions.conditions import conjuncts_of
from engine.plan.expressions.expr import Call, Column, Expr, Literal
from engine.plan.nodes import Filter, Project, UpdatingTop, Write
from engine.plan.tree import Node, rewrite


@dataclass(frozen=True, slots=True)
class Bound:
    """The largest place that a condition permits; `is_all` if the condition has no other effect."""

    column: str
    most: int
    is_all: bool


def limit_rankings(writes: Sequence[Write]) -> tuple[Write, ...]:
    """Add a limit to every ranking whose rank is compared with a constant above it."""
    return tuple(replace(write, input=rewrite(write.input, _limit)) for write in writes)


def bounds_of(node: Filter) -> Sequence[Bound]:
    """Return the upper bounds that a filter sets on ranks."""
    return [bound for test in conjuncts_of(node.condition) if (bound := _bound(test)) is not None]


def _limit(node: Node) -> Node:
    """Return a filter without the tests that its ranking guarantees."""
    if not isinstance(node, Filter):
        return node
    source, tests = node.input, list[Expr]()
    for test in conjuncts_of(node.condition):
        bound = _bound(test)
        limited = None if bound is None else _with_limit(source, bound.column, bound.most)
        source = source if limited is None else limited
        if limited is None or bound is None or not bound.is_all:
            tests.append(test)
    if not tests:
        return source
    return Filter(source, tests[0] if len(tests) == 1 else replace(_and(node.condition), arguments=tuple(tests)))


def _and(condition: Expr) -> Call:
    assert isinstance(condition, Call)
    return condition


def _bound(test: Expr) -> Bound | None:
    """Return the upper bound that a test sets on a rank, or None if it sets none."""
    match test:
        case Call("<=", (Column(name), Literal(int(most)))) | Call(">=", (Literal(int(most)), Column(name))):
            bound = Bound(name, most, is_all=True)
        case Call("<", (Column(name), Literal(int(most)))) | Call(">", (Literal(int(most)), Column(name))):
            bound = Bound(name, most - 1, is_all=True)
        case Call("=", (Column(name), Literal(int(most)))) | Call("=", (Literal(int(most)), Column(name))):
            bound = Bound(name, most, is_all=most == 1)
        case Call("between", (Column(name), Literal(int(least)), Literal(int(most)))):
            bound = Bound(name, most, is_all=least <= 1)
        case _:
            return None
    return bound if bound.most >= 1 else None


def _with_limit(node: Node, name: str, most: int) -> Node | None:
    """Return the relation with the limit on the ranking that computes the column; None if none does."""
    match node:
        case UpdatingTop(number=number, limit=limit) if number == name:
            return replace(node, limit=most if limit is None else min(limit, most))
        case Filter(source):
            below = _with_limit(source, name, most)
            return None if below is None else replace(node, input=below)
        case Project(source, columns):
            expr = next((named.expr for named in columns if named.name == name), None)
            below = _with_limit(source, expr.name, most) if isinstance(expr, Column) else None
            return None if below is None else replace(node, input=below)
    return None
