"""Rows for which several conditions hold."""

from __future__ import annotations

from collections.abc import Sequence

from engine.plan.expr import Expr
from engine.plan.nodes import Filter
from engine.plan.tree import Node
from engine.sql.scalar.expressions import make_call


def all_of(tests: Sequence[Expr]) -> Expr | None:
    """The condition that all of them hold; None when there is none."""
    if len(tests) < 2:
        return tests[0] if tests else None
    return make_call("and", tests)


def filtered(rows: Node, tests: Sequence[Expr]) -> Node:
    """The rows for which all of them hold."""
    condition = all_of(tests)
    return rows if condition is None else Filter(rows, condition)
