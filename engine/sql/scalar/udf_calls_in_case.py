"""Calls of the user's functions inside CASE: made for the rows that take the branch, and for no other.

    CASE WHEN n <> 0 THEN inverse(n) WHEN n IS NULL THEN f(1) ELSE g(n) END

    inverse(n)   when is_true(n <> 0)
    f(1)         when is_not_true(n <> 0) and is_true(n IS NULL)
    g(n)         when is_not_true(n <> 0) and is_not_true(n IS NULL)

Spark computes Python functions before the expressions they stand in, also for the rows that a CASE would keep from
them; so the condition goes into the call (docs/decisions/functions-of-the-users-are-arrow-functions.md).
"""

from __future__ import annotations

from dataclasses import replace

from engine import types
from engine.functions import find_function
from engine.plan.expressions.expr import Call, Case, Expr, rewrite, walk


def call_in_branches(case: Case) -> Case:
    """The CASE in which calls of the user's functions carry the condition of their branch."""
    before: tuple[Expr, ...] = ()
    branches: list[tuple[Expr, Expr]] = []
    for test, value in case.branches:
        branches.append((_guarded(test, before), _guarded(value, (*before, _is("is_true", test)))))
        before = (*before, _is("is_not_true", test))
    default = None if case.default is None else _guarded(case.default, before)
    return replace(case, branches=tuple(branches), default=default)


def _guarded(expr: Expr, tests: tuple[Expr, ...]) -> Expr:
    if not tests or not any(_is_users(part) for part in walk(expr)):
        return expr
    return rewrite(expr, lambda part: _called_when(part, tests) if isinstance(part, Call) and _is_users(part) else part)


def _called_when(user_call: Call, tests: tuple[Expr, ...]) -> Call:
    conditions = tests if user_call.when is None else (*tests, user_call.when)
    when = conditions[0] if len(conditions) == 1 else Call("and", conditions, types.BOOLEAN)
    return replace(user_call, when=when, nullable=True)


def _is(function: str, test: Expr) -> Expr:
    return Call(function, (test,), types.BOOLEAN, nullable=False)


def _is_users(expr: Expr) -> bool:
    function = find_function(expr.function) if isinstance(expr, Call) else None
    return function is not None and function.by_user
