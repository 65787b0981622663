"""row_number, rank and dense_rank where no time window says when all rows are there: places that change.

    SELECT * FROM (SELECT key, row_number() OVER (PARTITION BY key ORDER BY at DESC) AS n FROM events) WHERE n = 1
    SELECT DISTINCT ON (key) * FROM events ORDER BY at DESC

Both become an UpdatingTop: a row that another one takes the place of is taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import cast, get_args

from engine import types
from engine.errors import OverError
from engine.plan.expressions.expr import Column, Expr, Literal, Named
from engine.plan.nodes import Filter, NamedOver, Order, Project, UpdatingTop
from engine.plan.nodes.updating_ranking import Ranking
from engine.plan.tree import Node
from engine.sql.query.relation_columns import output_column
from engine.sql.scalar.calls import make_call

RANKINGS: frozenset[str] = frozenset(get_args(Ranking))
"""What can stand before OVER without a window."""

_PLACE = "__place"


@dataclass(frozen=True, slots=True)
class RowRange:
    """Which rows of each partition: `limit` of them, in an order, behind the first `offset`. A limit of zero takes
    none."""

    partition: tuple[Expr, ...]
    order: tuple[Order, ...]
    offset: int
    limit: int


def rank_rows(rows: Node, functions: Sequence[NamedOver], ttl: timedelta) -> Node:
    """The rows with their places, one column for each function."""
    for function in functions:
        ranking = cast("Ranking", function.function)
        rows = UpdatingTop(rows, ranking, function.partition, function.order, function.name, None, ttl)
    return rows


def top_rows(rows: Node, columns: Sequence[Named], row_range: RowRange, ttl: timedelta) -> Node:
    """The columns of the first rows of each partition; of rows without a window, they change."""
    offset, limit = row_range.offset, row_range.limit
    # UpdatingTop keeps the first rows, and at least one; which of them are meant is told by their number
    number = _PLACE if offset or not limit else None
    top: Node = UpdatingTop(
        rows, "row_number", row_range.partition, row_range.order, number, max(offset + limit, 1), ttl
    )
    if number is not None:
        last_skipped = Literal(offset if limit else offset + 1, types.BIGINT)
        top = Filter(top, make_call(">", [Column(number, types.BIGINT, nullable=False), last_skipped]))
    return Project(top, tuple(Named(column.name, output_column(column)) for column in columns))


def refuse_unordered(order: Sequence[Order]) -> None:
    """Refuse to rank rows by values that we do not compare."""
    kind = next((item.expr.type for item in order if not _has_order(item.expr.type)), None)
    if kind is not None:
        raise OverError(f"values of type {kind} have no order", hint="order by something inside them")


def _has_order(kind: types.Type) -> bool:
    return not isinstance(kind, types.Array | types.Struct | types.Null) and kind != types.JSON_PART
