"""Calls of the user's functions inside CASE: made for the rows that take the branch, and for no other.

Spark computes Python functions before the expressions they stand in, so what guards them must go in with them.
"""

from __future__ import annotations

from dataclasses import replace

from engine import types
from engine.functions import find_function
from engine.plan.expr import Call, Case, Expr, rewrite, walk


def call_in_branches(case: Case) -> Case:
    """The CASE with the user's functions in its branches told when they are wanted."""
    before: tuple[Expr, ...] = ()
    branches: list[tuple[Expr, Expr]] = []
    for test, value in case.branches:
        branches.append((_only(test, before), _only(value, (*before, _is("is_true", test)))))
        before = (*before, _is("is_not_true", test))
    default = None if case.default is None else _only(case.default, before)
    return replace(case, branches=tuple(branches), default=default)


def _only(expr: Expr, tests: tuple[Expr, ...]) -> Expr:
    if not tests or not any(_is_own(part) for part in walk(expr)):
        return expr
    return rewrite(expr, lambda part: _guarded(part, tests) if isinstance(part, Call) and _is_own(part) else part)


def _guarded(found: Call, tests: tuple[Expr, ...]) -> Call:
    every = tests if found.when is None else (*tests, found.when)
    return replace(found, when=every[0] if len(every) == 1 else Call("and", every, types.BOOLEAN), nullable=True)


def _is(function: str, test: Expr) -> Expr:
    return Call(function, (test,), types.BOOLEAN, nullable=False)


def _is_own(expr: Expr) -> bool:
    function = find_function(expr.function) if isinstance(expr, Call) else None
    return function is not None and function.by_user
