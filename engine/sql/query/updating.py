"""What a query over rows that are taken back cannot do."""

from __future__ import annotations

from collections.abc import Iterator

from engine.errors import UpdatingQueryError
from engine.functions import FUNCTIONS
from engine.plan.expr import Call, Column, Expr, walk
from engine.plan.hidden import EVENT_TIME
from engine.plan.nodes import Filter, Project, UpdatingAggregate, UpdatingTop, is_updating
from engine.plan.tree import Node, inputs_of


def refuse_chance(rows: Node) -> None:
    """Refuse what gives another value each time, over rows that are taken back: it would take back another row than it
    had added."""
    seen: set[int] = set()
    todo = [rows]
    while todo:
        node = todo.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        todo.extend(inputs_of(node))
        found = next((name for expr in _computed(node) for name in _changing(expr)), None)
        if found is not None and any(is_updating(below) for below in inputs_of(node)):
            raise UpdatingQueryError(
                f"{found}() gives another value each time, so a row that is taken back could not be found again",
                hint="compute it before the rows are aggregated or joined, or leave it out",
            )


def _computed(node: Node) -> Iterator[Expr]:
    match node:
        case Project(_, columns):
            yield from (item.expr for item in columns)
        case Filter(_, condition):
            yield condition
        case UpdatingTop(_, _, partition, order):
            yield from (*partition, *(one.expr for one in order))
        case UpdatingAggregate(_, keys, aggregates):
            yield from (key.expr for key in keys)
            for one in aggregates:
                yield from one.aggregate.arguments
                if one.aggregate.condition is not None:
                    yield one.aggregate.condition


def _changing(expr: Expr) -> Iterator[str]:
    """The functions in an expression that do not depend on its columns alone."""
    for part in walk(expr):
        match part:
            case Call(name) if name in FUNCTIONS and not FUNCTIONS[name].deterministic:
                yield name
            case Column(name) if name == EVENT_TIME:
                yield "row_time"
