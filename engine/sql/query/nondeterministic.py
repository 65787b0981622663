"""Functions that give another value each time, over rows that are taken back.

SELECT key, count(*), uuid() FROM events GROUP BY key

When the count of a key changes, its old row is taken back as it was. That row had another uuid, which nobody knows
any more: the sink would be told to delete a row that it does not have.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.errors import UpdatingQueryError
from engine.functions import FUNCTIONS
from engine.plan.expressions.expr import Call, Column, Expr, walk
from engine.plan.hidden import EVENT_TIME
from engine.plan.nodes import Filter, Project, UpdatingAggregate, UpdatingTop, is_updating
from engine.plan.tree import Node, inputs_of, walk_once


def refuse_nondeterministic(rows: Node) -> None:
    """Refuse what gives another value each time, over rows that are taken back."""
    for node in walk_once(rows):
        name = next((name for expr in _expressions_of(node) for name in _nondeterministic_in(expr)), None)
        if name is not None and any(is_updating(source) for source in inputs_of(node)):
            raise UpdatingQueryError(
                f"{name}() gives another value each time, so a row that is taken back could not be found again",
                hint="compute it before the rows are aggregated or joined, or leave it out",
            )


def _expressions_of(node: Node) -> Iterator[Expr]:
    match node:
        case Project(_, columns):
            yield from (column.expr for column in columns)
        case Filter(_, condition):
            yield condition
        case UpdatingTop(_, _, partition, order):
            yield from (*partition, *(item.expr for item in order))
        case UpdatingAggregate(_, keys, aggregates):
            yield from (key.expr for key in keys)
            for named in aggregates:
                yield from named.aggregate.arguments
                if named.aggregate.condition is not None:
                    yield named.aggregate.condition


def _nondeterministic_in(expr: Expr) -> Iterator[str]:
    """The functions in an expression that do not depend on its columns alone."""
    for part in walk(expr):
        match part:
            case Call(name) if name in FUNCTIONS and not FUNCTIONS[name].deterministic:
                yield name
            case Column(name) if name == EVENT_TIME:
                yield "row_time"
