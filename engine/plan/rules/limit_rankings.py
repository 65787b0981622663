"""A ranking of which only the best are wanted gives no others, and keeps no others if it can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.plan.expr import Call, Column, Expr, Literal
from engine.plan.nodes import Filter, Project, UpdatingTop, Write
from engine.plan.tree import Node, rewrite


def limit_rankings(writes: Sequence[Write]) -> tuple[Write, ...]:
    """The same writes with a limit on every ranking whose place is compared with a constant above it."""
    return tuple(replace(write, input=rewrite(write.input, _limited)) for write in writes)


def _limited(node: Node) -> Node:
    """A filter without the tests that its ranking answers for it."""
    if not isinstance(node, Filter):
        return node
    source, rest = node.input, list[Expr]()
    for test in _conjuncts(node.condition):
        found = _most(test)
        below = None if found is None else _within(source, found[0], found[1])
        source = source if below is None else below
        if below is None or found is None or not found[2]:
            rest.append(test)
    if not rest:
        return source
    return Filter(source, rest[0] if len(rest) == 1 else replace(_and(node.condition), arguments=tuple(rest)))


def _and(condition: Expr) -> Call:
    assert isinstance(condition, Call)
    return condition


def _conjuncts(condition: Expr) -> list[Expr]:
    if isinstance(condition, Call) and condition.function == "and":
        return [part for argument in condition.arguments for part in _conjuncts(argument)]
    return [condition]


def _most(test: Expr) -> tuple[str, int, bool] | None:
    """The column that a test holds below a number, the number, and whether that is all it says of a place."""
    match test:
        case Call("<=", (Column(name), Literal(int(most)))) | Call(">=", (Literal(int(most)), Column(name))):
            found = name, most, True
        case Call("<", (Column(name), Literal(int(most)))) | Call(">", (Literal(int(most)), Column(name))):
            found = name, most - 1, True
        case Call("=", (Column(name), Literal(int(most)))) | Call("=", (Literal(int(most)), Column(name))):
            found = name, most, most == 1
        case Call("between", (Column(name), Literal(int(least)), Literal(int(most)))):
            found = name, most, least <= 1
        case _:
            return None
    return found if found[1] >= 1 else None


def _within(node: Node, name: str, most: int) -> Node | None:
    """The relation with the limit on the ranking that gives the column; None when none does."""
    match node:
        case UpdatingTop(number=number, limit=limit) if number == name:
            return replace(node, limit=most if limit is None else min(limit, most))
        case Filter(source):
            below = _within(source, name, most)
            return None if below is None else replace(node, input=below)
        case Project(source, columns):
            own = next((one.expr for one in columns if one.name == name), None)
            below = _within(source, own.name, most) if isinstance(own, Column) else None
            return None if below is None else replace(node, input=below)
    return None
