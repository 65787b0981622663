"""ORDER BY, LIMIT and OFFSET of a SELECT: they order and cut the rows of each time window."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import timedelta

from sqlglot import exp

from engine import types
from engine.errors import ColumnCountError, OverError, ScriptRefused, UnsupportedClauseError
from engine.plan.expr import Column, Expr, Named, is_nullable
from engine.plan.nodes import Order, Project, Top
from engine.plan.tree import Node
from engine.sql.complaints import errors_located
from engine.sql.query.over import Translate, orders_of
from engine.sql.query.updating_ranking import best, refuse_unordered
from engine.sql.query.windows import held_window, with_window
from engine.sql.text.clauses import refused_clause
from engine.sql.text.parse import Script

_CLAUSES = ("order", "limit", "offset")
_MOST = 2**31 - 1


def ordered(
    node: exp.Select,
    build: Callable[[], Node],
    columns: tuple[Named, ...],
    translate: Translate,
    script: Script,
    ttl: timedelta,
) -> Node:
    """What a SELECT gives: the columns, of the rows that its DISTINCT ON, ORDER BY and LIMIT leave in each window, or
    of all rows without one. `build` gives the relation below once everything was translated, since ORDER BY may ask it
    for more."""
    asked = [name for name in _CLAUSES if node.args.get(name)]
    keys = keys_of(node)
    if not asked and not keys:
        return Project(build(), columns)
    found = held_window(build())
    if found is None and not keys and not {"order", "limit"} <= set(asked):
        raise ScriptRefused([refused_clause(node, name, script) for name in asked])
    if keys and (found is not None or {"limit", "offset"} & set(asked)):
        raise UnsupportedClauseError(
            "DISTINCT ON of windows, or beside LIMIT, is not supported",
            hint="use row_number() OVER (PARTITION BY window, key ORDER BY ...) = 1",
        )
    if node.args.get("distinct") is not None and not keys:
        raise UnsupportedClauseError("ORDER BY beside DISTINCT is not supported", hint="put DISTINCT in a sub-query")
    extras: list[Named] = []

    def column_of(expr: Expr) -> Column:
        """The column of an expression, added when nobody has selected it."""
        same = next((one for one in (*columns, *extras) if one.expr == expr), None)
        if same is None:
            same = Named(f"__order{len(extras)}", expr)
            extras.append(same)
        return Column(same.name, expr.type, is_nullable(expr))

    def value(item: exp.Expr) -> Expr:
        named = _output(item, columns)
        return column_of(translate(item) if named is None else named.expr)

    if found is None:
        with errors_located(script.position(node.args.get("order"))):
            order = orders_of(node.args.get("order"), value)
            refuse_unordered(order)
        partition = tuple(column_of(translate(one)) for one in keys)
        offset = _count(node, "offset", script) or 0
        most = 1 if keys else _count(node, "limit", script) or 0
        return best(Project(build(), (*columns, *extras)), columns, partition, order, offset, most, ttl)
    if found[1] is None:
        raise OverError(
            "the input is windowed but does not pass its window on", hint="select the window in the inner query"
        )
    window = next((one.expr for one in columns if isinstance(one.expr, Column) and one.expr.name == found[1]), None)
    held = column_of(window or Column(found[1], types.WINDOW, nullable=False))
    with errors_located(script.position(node.args.get("order"))):
        orders: tuple[Order, ...] = orders_of(node.args.get("order"), value)
    limit = _count(node, "limit", script)
    top = Top(
        Project(with_window(build()), (*columns, *extras)),
        held.name,
        orders,
        limit,
        _count(node, "offset", script) or 0,
    )
    if not extras:
        return top
    return Project(
        top, tuple(Named(one.name, Column(one.name, one.expr.type, is_nullable(one.expr))) for one in columns)
    )


def keys_of(node: exp.Select) -> list[exp.Expr]:
    """The values in DISTINCT ON, of which each has its first row."""
    distinct = node.args.get("distinct")
    on = None if distinct is None else distinct.args.get("on")
    keys = [] if on is None else on.expressions if isinstance(on, exp.Tuple) else [on.unnest()]
    if on is not None and not keys:
        raise UnsupportedClauseError("DISTINCT ON takes one value or more", hint="write DISTINCT ON (key)")
    return list(keys)


def _output(item: exp.Expr, columns: Sequence[Named]) -> Named | None:
    """The selected column that an item of ORDER BY names or counts."""
    if isinstance(item, exp.Literal) and not item.is_string:
        index = int(item.name) if re.fullmatch("[0-9]{1,9}", item.name) else 0
        if not 1 <= index <= len(columns):
            raise ColumnCountError(
                f"ORDER BY {item.name} is not the number of a column", hint=f"there are {len(columns)}"
            )
        return columns[index - 1]
    if isinstance(item, exp.Column) and not item.table:
        return next((one for one in columns if one.name.lower() == item.name.lower()), None)
    return None


def _count(node: exp.Select, name: str, script: Script) -> int | None:
    clause = node.args.get(name)
    if clause is None:
        return None
    number = clause.expression if type(clause) in (exp.Limit, exp.Offset) else None
    if clause.args.get("expressions") or not isinstance(number, exp.Literal) or number.is_string:
        raise refused_clause(node, name, script)
    if not re.fullmatch("[0-9]{1,10}", number.name) or int(number.name) > _MOST:
        raise OverError(f"{name.upper()} takes a whole number up to {_MOST}", at=script.position(number))
    return int(number.name)
