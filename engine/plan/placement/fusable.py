"""Which tests of rows may be asked in the task of a source, on Arrow: those proven to give what Spark gives for all
values, and to fail for none. `engine.arrow.evaluate` computes them.

    price > 10 AND auction % 123 = 0       yes
    json_get_int(doc, 'a') > 3             yes: otherwise Spark sends all rows to a Python worker for it
    auction % bidder = 0                   no: it fails where bidder is 0, and Spark tells the user so
    price + 1 > 10                         no: it fails where the sum leaves the range
    channel LIKE 'a%'                      no: Arrow has another idea of patterns
"""

from __future__ import annotations

from engine import types
from engine.functions import FUNCTIONS
from engine.plan.expressions.evaluable import EVALUATED, can_evaluate, is_left_to_kernel
from engine.plan.expressions.expr import Call, Case, Cast, Column, Expr, Literal, Member, walk

_TESTS = frozenset(name for name in EVALUATED if FUNCTIONS[name].cannot_fail)
"""Comparisons, logic and coalesce."""
_MOST_PARTS = 200
"""How many parts an expression may have: columns of columns grow fast, and Spark computes what they share once."""


def is_fusable(expr: Expr) -> bool:
    """Whether the expression may be computed in the task of a source."""
    return len(list(walk(expr))) <= _MOST_PARTS and can_evaluate(expr) and all(map(_is_proven, walk(expr)))


def _is_proven(part: Expr) -> bool:
    match part:
        case Column() | Literal() | Member() | Case():
            return True
        case Cast():
            return _is_exact(part)
        case Call("in", arguments):
            # Spark looks up long lists by the bits of a number, where 0.0 is not -0.0
            return not any(isinstance(argument.type, types.Float) for argument in arguments)
        case Call("%", (dividend, Literal(int(divisor)))):
            return divisor != 0 and isinstance(dividend.type, types.Integer) and dividend.type.signed
        case Call("+" | "-" | "*" | "negate", arguments):
            return all(isinstance(argument.type, types.Float) for argument in arguments)
        case Call(function):
            return function in _TESTS or _has_the_same_kernel(part)


def _has_the_same_kernel(call: Call) -> bool:
    """Whether Spark would have a Python worker compute it by the kernel that the task has. NULL must be an answer:
    where it is none, Spark fails."""
    declared = FUNCTIONS.get(call.function)
    return (
        declared is not None and declared.family == "json" and declared.nullable is not any and is_left_to_kernel(call)
    )


def _is_exact(cast: Cast) -> bool:
    """Whether every value of the one type is one of the other, or the nearest of it."""
    match cast.input.type, cast.type:
        case types.Integer() as source, types.Integer() as target:
            return source.bits <= target.bits and source.signed == target.signed
        case types.Integer(), types.Float(64):
            return True
        case types.Float() as source, types.Float() as target:
            return source.bits <= target.bits
        case types.Text(), types.Json(is_part=False):
            return True
        case types.Text(), types.Timestamp():
            return isinstance(cast.input, Literal)
    return False
