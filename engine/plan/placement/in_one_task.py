"""Epoch parts that one task can do, over Arrow: joins within windows and rankings of what an epoch has released.

    epoch part    Write out <- WindowJoin <- Branch 0        by Spark     rows cached, two shuffles, a sort of each side
                                          <- Branch 1        one task     rows gathered, equal keys found, written

What is left to Spark: aggregates of aggregates, lookups, the user's functions, keys that are no whole numbers, texts or
times, and what may fail, so that it fails as it does there. See docs/decisions/epoch-parts-in-one-task.md.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine import types
from engine.plan.expressions.expr import Expr
from engine.plan.nodes import Branch, Filter, Order, Over, Project, Top, Union, WindowJoin, Write
from engine.plan.placement.fusable import is_fusable
from engine.plan.placement.split import Parts
from engine.plan.tree import Node, walk

RANKINGS = ("row_number", "rank", "dense_rank")
_KEYS = types.Text | types.Timestamp | types.Date | types.Boolean


def is_for_one_task(parts: Parts) -> bool:
    """Whether one task can do the epoch part, and there is anything to do that Spark would need a shuffle for."""
    nodes = [node for write in parts.writes for node in walk(write)]
    meets = any(isinstance(node, WindowJoin | Over | Top) for node in nodes)
    return meets and not parts.is_updating and all(map(_is_known, nodes))


def _is_known(node: Node) -> bool:
    match node:
        case Write() | Branch() | Union():
            return True
        case Project(_, columns):
            return all(is_fusable(named.expr) for named in columns)
        case Filter(_, condition):
            return is_fusable(condition)
        case WindowJoin(equal=equal, condition=condition):
            return all(map(_is_key, (part for pair in equal for part in pair))) and (
                condition is None or is_fusable(condition)
            )
        case Over(functions=functions):
            return all(
                function.function in RANKINGS and _are_keys(function.partition) and _are_ordered(function.order)
                for function in functions
            )
        case Top(order=order):
            return _are_ordered(order)
    return False


def _are_keys(exprs: Iterable[Expr]) -> bool:
    return all(expr.type == types.WINDOW or _is_key(expr) for expr in exprs)


def _is_key(expr: Expr) -> bool:
    """Whether values are equal if they are the same to the bit."""
    return is_fusable(expr) and (isinstance(expr.type, _KEYS) or _is_signed(expr.type))


def _are_ordered(order: Iterable[Order]) -> bool:
    return all(_is_key(part.expr) or _is_number_with_fraction(part.expr) for part in order)


def _is_number_with_fraction(expr: Expr) -> bool:
    return isinstance(expr.type, types.Float) and is_fusable(expr)


def _is_signed(kind: types.Type) -> bool:
    return isinstance(kind, types.Integer) and kind.signed
