"""The tests that a condition is made of, which all have to be true."""

from __future__ import annotations

from collections.abc import Sequence

from engine import types
from engine.functions import FUNCTIONS
from engine.plan.expressions.expr import Call, Case, Cast, Column, Expr, Literal, Member, walk
from engine.plan.nodes import Filter
from engine.plan.tree import Node


def conjuncts_of(condition: Expr) -> list[Expr]:
    """The tests of a condition, in their order."""
    if isinstance(condition, Call) and condition.function == "and":
        return [test for argument in condition.arguments for test in conjuncts_of(argument)]
    return [condition]


def all_of(tests: Sequence[Expr]) -> Expr | None:
    """The condition that all tests are true; None without any."""
    if len(tests) < 2:
        return tests[0] if tests else None
    return Call("and", tuple(tests), types.BOOLEAN)


def with_filter(rows: Node, tests: Sequence[Expr]) -> Node:
    """The rows for which all tests are true."""
    condition = all_of(tests)
    return rows if condition is None else Filter(rows, condition)


def cannot_fail(test: Expr) -> bool:
    """Whether the test may be asked of rows that a script would not have asked it of."""
    return all(map(_is_harmless, walk(test)))


def _is_harmless(part: Expr) -> bool:
    match part:
        case Call(function):
            return function in FUNCTIONS and FUNCTIONS[function].cannot_fail
        case Cast(inner, types.Integer(bits, signed), lenient):
            widened = isinstance(inner.type, types.Integer) and inner.type.bits <= bits and inner.type.signed == signed
            return lenient or widened
        case Cast(Literal()):
            return True  # a constant that cannot be converted has been refused
        case Cast(lenient=lenient):
            return lenient
        case Column() | Literal() | Member() | Case():
            return True
