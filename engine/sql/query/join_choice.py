"""Which join two relations take: by their windows, and by the equalities among the conditions.

FROM e JOIN c ON e.window = c.window AND e.key = c.key AND e.n > c.n

both have the same window       WindowJoin: rows of one window meet in one epoch and none is kept; the equality of
                                the windows is its own, e.key = c.key a pair, e.n > c.n the condition
neither has a window            UpdatingJoin: rows are kept by the values of the pairs, so there must be a pair
only one has, or they differ    refused: a window that is closed would have to wait for rows of all time
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from engine import types
from engine.errors import JoinError, TextPosition, WindowMismatchError
from engine.plan.expressions.conditions import split_condition
from engine.plan.expressions.expr import Call, Column, Expr, columns_of
from engine.plan.nodes import JoinKind, Session, UpdatingJoin, WindowJoin, window_of
from engine.plan.nodes.joins import Pair
from engine.plan.tree import Node
from engine.sql.query.conjunctions import conjunction
from engine.sql.query.windows import describe


@dataclass(frozen=True, slots=True)
class JoinCondition:
    """What must hold for two rows to meet: the equalities between the sides, and everything else."""

    pairs: tuple[Pair, ...]
    remainder: Expr | None = None


def join_condition_of(conditions: Sequence[Expr], left: Node, right: Node) -> JoinCondition:
    """The equalities between two relations among some conditions, and all other conditions as one."""
    pairs = [equality_of(condition, left, right) for condition in conditions]
    remainder = [condition for condition, pair in zip(conditions, pairs, strict=True) if pair is None]
    return JoinCondition(tuple(pair for pair in pairs if pair is not None), conjunction(remainder))


def equality_of(condition: Expr, left: Node, right: Node) -> Pair | None:
    """The expression of the left and that of the right which must be equal; None for any other condition."""
    if not isinstance(condition, Call) or condition.function != "=":
        return None
    first, second = condition.arguments
    if _reads_only(first, left) and _reads_only(second, right):
        return first, second
    if _reads_only(second, left) and _reads_only(first, right):
        return second, first
    return None


def choose_join(
    left: Node, right: Node, kind: JoinKind, condition: JoinCondition, ttl: timedelta, at: TextPosition | None
) -> Node:
    """The join that two relations take: within the window of both, or for all time when neither has one."""
    is_windowed = [window_of(side) is not None for side in (left, right)]
    if all(is_windowed):
        return _window_join(left, right, kind, condition, at)
    if any(is_windowed):
        sides = ("left", "right") if is_windowed[0] else ("right", "left")
        raise WindowMismatchError(
            f"the {sides[0]} side of the join has a window and the {sides[1]} side has none",
            hint="aggregate both sides by the same window, or neither",
            at=at,
        )
    if not condition.pairs:
        raise JoinError("a join without windows needs an equality of its sides", hint="write ON a.x = b.x", at=at)
    if kind != "inner" and condition.remainder is not None:
        _refuse_uncomputable(left, right, condition.remainder, at)
    return UpdatingJoin(left, right, kind, condition.pairs, condition.remainder, ttl)


def _window_join(left: Node, right: Node, kind: JoinKind, condition: JoinCondition, at: TextPosition | None) -> Node:
    left_windowed, right_windowed = window_of(left), window_of(right)
    assert left_windowed is not None
    assert right_windowed is not None
    (left_window, left_column), (right_window, right_column) = left_windowed, right_windowed
    if left_window != right_window:
        raise WindowMismatchError(
            f"rows of different windows cannot be joined: {describe(left_window)} and {describe(right_window)}",
            hint="aggregate both sides by the same window",
            at=at,
        )
    if left_column is None or right_column is None:
        # windows of a fixed width are known by the event time of their rows, which is just before their end; where a
        # session ends, its rows do not tell
        if isinstance(left_window, Session):
            raise WindowMismatchError(
                "sessions are joined by their window, which one side does not pass on",
                hint="select the window in both inner queries",
                at=at,
            )
        return WindowJoin(left, right, kind, None, condition.pairs, condition.remainder)
    windows = (left_column, right_column)
    columns = {Column(name, types.WINDOW, nullable=False) for name in windows}
    pairs = tuple(pair for pair in condition.pairs if set(pair) != columns)
    return WindowJoin(left, right, kind, windows, pairs, condition.remainder)


def _refuse_uncomputable(left: Node, right: Node, condition: Expr, at: TextPosition | None) -> None:
    """Refuse what only Spark can compute: a row that meets none is known only once each pair was tested by us."""
    if split_condition(condition, left.schema, right.schema) is None:
        raise JoinError(
            "this condition is too intricate for a join without windows that is not an inner one",
            hint="compute what it needs of each side in a column of its own, and compare those",
            at=at,
        )


def _reads_only(expr: Expr, side: Node) -> bool:
    """Whether it reads columns, and only those of one side."""
    names = columns_of(expr)
    return bool(names) and names <= set(side.schema.names)
