"""Conditions that must all hold: joined with AND, and taken apart again."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from engine.plan.expressions.expr import Call, Expr
from engine.plan.nodes import Filter
from engine.plan.tree import Node
from engine.sql.scalar.calls import make_call


def conjunction(conditions: Sequence[Expr]) -> Expr | None:
    """The condition that all of them hold; None when there is none."""
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return make_call("and", conditions)


def conjuncts(condition: Expr) -> list[Expr]:
    """The conditions that must all hold for this one to hold."""
    if isinstance(condition, Call) and condition.function == "and":
        return [conjunct for argument in condition.arguments for conjunct in conjuncts(argument)]
    return [condition]


def where_conditions(select: exp.Select) -> list[exp.Expr]:
    """The conditions of WHERE that must all hold."""
    where = select.args.get("where")
    if where is None:
        return []
    return list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]


def filter_rows(rows: Node, conditions: Sequence[Expr]) -> Node:
    """The rows for which all of the conditions hold."""
    condition = conjunction(conditions)
    return rows if condition is None else Filter(rows, condition)
