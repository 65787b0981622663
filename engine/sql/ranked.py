"""row_number, rank and dense_rank where no time window says when all rows are there: places that change."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import cast, get_args

from engine import types
from engine.errors import OverError
from engine.plan.nodes import NamedOver, Order, UpdatingTop
from engine.plan.nodes.ranked import Ranking
from engine.plan.tree import Node

RANKINGS: frozenset[str] = frozenset(get_args(Ranking))
"""What can stand before OVER without a window."""


def ranked(rows: Node, functions: Sequence[NamedOver], ttl: timedelta) -> Node:
    """The rows with their places, one column for each function."""
    for one in functions:
        rows = UpdatingTop(rows, cast("Ranking", one.function), one.partition, one.order, one.name, None, ttl)
    return rows


def refuse_unordered(order: Sequence[Order]) -> None:
    """Refuse to place rows by values that we do not compare."""
    beyond = next((part.expr.type for part in order if not _has_order(part.expr.type)), None)
    if beyond is not None:
        raise OverError(f"values of type {beyond} have no order", hint="order by something inside them")


def _has_order(kind: types.Type) -> bool:
    return not isinstance(kind, types.Array | types.Struct | types.Null) and kind != types.JSON_PART
