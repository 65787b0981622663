"""Which rows of a window a ranking need not sort, because only its first places are asked for.

    Filter place = 1                             n      may lead
      Project w, auction, place                  3      yes
        Over row_number() BY w ORDER BY n DESC   2      no: one row with more has passed
                                                 3      yes: it depends on the rest of the order
                                                 5      yes

Whoever is beaten by as many rows as there are places, by what counts first in the order alone, has none of them. What
stays is ranked as ever, and the filter stays above it.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine import types
from engine.plan.expressions.expr import Column, Expr, Literal, Member
from engine.plan.nodes import Branch, Filter, Over, Project
from engine.plan.placement.split import Parts
from engine.plan.rules.limit_rankings import bounds_of
from engine.plan.tree import Node, walk

MOST_PLACES = 1_000
"""Of each window so many values are remembered in a task."""
_RANKINGS = ("row_number", "rank")
_FIRST = "dense_rank"
"""Rows that are equal share a place of it, so that only its first one tells how many rows are before."""


@dataclass(frozen=True, slots=True)
class Leading:
    """The window by which rows are ranked, the column that counts first, and how many places are asked for."""

    window: str
    value: Column
    descending: bool
    places: int


def leading_rows(node: Filter) -> tuple[Over, Leading] | None:
    """The ranking below a filter that asks for its first places only, and what its rows must have to be there; None
    where all rows are needed, or where it cannot be told from a whole number or an instant."""
    for bound in bounds_of(node):
        over = _ranking(node.input, bound.column)
        leading = None if over is None else _leading(over, bound.most)
        if over is not None and leading is not None:
            return over, leading
    return None


def leading_of_branch(parts: Parts) -> Leading | None:
    """Return the condition on leading rows if a ranking is the only reader of the only branch, and reads it once."""
    nodes = [node for write in parts.writes for node in walk(write)]
    if sum(isinstance(node, Branch) for node in nodes) != 1:
        return None
    filters = [node for node in nodes if isinstance(node, Filter)]
    found = [ranked for node in filters if (ranked := leading_rows(node)) is not None]
    return next((leading for over, leading in found if isinstance(over.input, Branch)), None)


def _ranking(node: Node, name: str) -> Over | None:
    """The relation that gives the column, if nothing lies between but columns that are passed on."""
    match node:
        case Over(functions=(function,)) if function.name == name:
            return node
        case Project(source, columns) if all(_is_passed_on(named.expr) for named in columns):
            expr = next((named.expr for named in columns if named.name == name), None)
            return _ranking(source, expr.name) if isinstance(expr, Column) else None
    return None


def _is_passed_on(expr: Expr) -> bool:
    """Whether nothing is computed that could fail for a row that is left out."""
    match expr:
        case Column() | Literal():
            return True
        case Member(inner):
            return _is_passed_on(inner)
    return False


def _leading(over: Over, places: int) -> Leading | None:
    (function,) = over.functions
    is_counted = function.function in _RANKINGS or (function.function == _FIRST and places == 1)
    is_by_window = [_name(part) for part in function.partition] == [over.window]
    if not is_counted or not is_by_window or not function.order or places > MOST_PLACES:
        return None
    first, *others = function.order
    if not isinstance(first.expr, Column) or not _is_whole(first.expr.type):
        return None
    if not all(_is_passed_on(part.expr) for part in others):
        return None
    return Leading(over.window, first.expr, first.descending, places)


def _name(expr: Expr) -> str | None:
    return expr.name if isinstance(expr, Column) else None


def _is_whole(kind: types.Type) -> bool:
    """Whether its values are in the order of the whole numbers that Spark has for them."""
    match kind:
        case types.Integer(_, signed):
            return signed
        case types.Timestamp():
            return True
    return False
