"""Sub-queries in WHERE: the rows whose value is IN another relation are those that meet it in a join."""

from __future__ import annotations

from datetime import timedelta

from engine.errors import ColumnCountError, Place, UnsupportedClauseError
from engine.plan.expr import Column, Expr, Named
from engine.plan.nodes import Carried, UpdatingAggregate, WindowAggregate
from engine.plan.tree import Node
from engine.sql.expressions import make_call
from engine.sql.joins import Matching, choose_join
from engine.sql.names import count_columns
from engine.sql.windows import held_window, with_window


def members_of(rows: Node, value: Expr, others: Node, ttl: timedelta, at: Place | None) -> Node:
    """The rows whose value is in the one column of `others`, each once; NULL is in nothing. Within a window when both
    have one, else for all time."""
    if len(others.schema) != 1:
        raise ColumnCountError(
            f"IN takes a query of 1 column, not of {count_columns(len(others.schema))}", hint="select one", at=at
        )
    column = others.schema.fields[0]
    number = sum(name.startswith("__in") for name in rows.schema.names)
    name, window = f"__in{number}", f"__in{number}_window"
    key = Named(name, Column(column.name, column.type, column.nullable))
    held = held_window(others)
    once: Node
    if held is None:
        once = UpdatingAggregate(others, (key,), (), ttl)
    elif held[1] is None:
        raise UnsupportedClauseError(
            "a query of sessions cannot stand behind IN", hint="write a join that names the window of both", at=at
        )
    else:
        once = WindowAggregate(with_window(others), Carried(held[1]), window, (key,), ())
    test = make_call("=", [value, Column(name, column.type, column.nullable)])
    left, right = test.arguments  # type: ignore[union-attr]  # a comparison is a call
    return choose_join(rows, once, "inner", Matching(((left, right),), None), ttl, at)
