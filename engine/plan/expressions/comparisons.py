"""Comparisons with their sides in one order, so that those which only a script tells apart are the same.

    3 < n      n > 3       3 < n
    n = user   user = n    n = user

Plans run as their scripts say them, and operators are known by that: here it is only asked what two scripts share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from engine.plan.expressions.expr import Call, Expr, rewrite

_TURNED = {">": "<", ">=": "<="}
_SYMMETRIC = {"=", "<>", "is_distinct_from", "is_not_distinct_from"}


def turned(expr: Expr, text: Callable[[Expr], str]) -> Expr:
    """The expression with all of its comparisons in one order; that of sides which are alike is that of their texts."""

    def turn(part: Expr) -> Expr:
        match part:
            case Call(function, (left, right)) if function in _TURNED:
                return replace(part, function=_TURNED[function], arguments=(right, left))
            case Call(function, arguments) if function in _SYMMETRIC:
                return replace(part, arguments=tuple(sorted(arguments, key=text)))
        return part

    return rewrite(expr, turn)
