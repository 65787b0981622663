"""row_number, rank and dense_rank where no time window says when all rows are there: places that change."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import cast, get_args

from engine import types
from engine.errors import OverError
from engine.plan.expr import Column, Expr, Literal, Named, is_nullable
from engine.plan.nodes import Filter, NamedOver, Order, Project, UpdatingTop
from engine.plan.nodes.ranked import Ranking
from engine.plan.tree import Node
from engine.sql.scalar.expressions import make_call

RANKINGS: frozenset[str] = frozenset(get_args(Ranking))
"""What can stand before OVER without a window."""


def ranked(rows: Node, functions: Sequence[NamedOver], ttl: timedelta) -> Node:
    """The rows with their places, one column for each function."""
    for one in functions:
        rows = UpdatingTop(rows, cast("Ranking", one.function), one.partition, one.order, one.name, None, ttl)
    return rows


def best(
    rows: Node,
    columns: Sequence[Named],
    partition: tuple[Expr, ...],
    order: tuple[Order, ...],
    offset: int,
    limit: int,
    ttl: timedelta,
) -> Node:
    """The columns of so many rows of each partition behind the first ones; of rows without a window, they change."""
    number = "__place" if offset or not limit else None
    found: Node = UpdatingTop(rows, "row_number", partition, order, number, max(offset + limit, 1), ttl)
    if number is not None:
        first = Literal(offset if limit else offset + 1, types.BIGINT)
        found = Filter(found, make_call(">", [Column(number, types.BIGINT, nullable=False), first]))
    return Project(
        found, tuple(Named(one.name, Column(one.name, one.expr.type, is_nullable(one.expr))) for one in columns)
    )


def refuse_unordered(order: Sequence[Order]) -> None:
    """Refuse to place rows by values that we do not compare."""
    beyond = next((part.expr.type for part in order if not _has_order(part.expr.type)), None)
    if beyond is not None:
        raise OverError(f"values of type {beyond} have no order", hint="order by something inside them")


def _has_order(kind: types.Type) -> bool:
    return not isinstance(kind, types.Array | types.Struct | types.Null) and kind != types.JSON_PART
