"""Refuse nondeterministic functions over changelog rows.

SELECT key, count(*), uuid() FROM events GROUP BY key

When the count of a key changes, its old row is retracted. That row had another uuid, which is unknown by now: the
retraction would name a row that the sink does not have.

Refuse columns of changelog rows that are named like hidden columns (`plan/tree.py`).

SELECT _id, count(*) FROM events GROUP BY _id

would have two columns `_id`: the key, and the id of the row's versions.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from engine.errors import TableColumnError, TextPosition, UpdatingQueryError
from engine.functions import FUNCTIONS
from engine.plan.expressions.expr import Call, Column, Expr, walk
from engine.plan.nodes import Filter, Project, UpdatingAggregate, UpdatingTop, is_updating
from engine.plan.tree import EVENT_TIME, RETRACT, ROW_ID, Node, inputs_of, walk_once
from engine.sql.text.parse import Script


def refuse_nondeterministic(rows: Node) -> None:
    """Refuse nondeterministic functions over changelog rows."""
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
    """Yield the functions in an expression that do not depend on its columns alone."""
    for part in walk(expr):
        match part:
            case Call(name) if name in FUNCTIONS and not FUNCTIONS[name].deterministic:
                yield name
            case Column(name) if name == EVENT_TIME:
                yield "row_time"


_NAMES = (ROW_ID, RETRACT)


def refuse_names_of_changes(rows: Node, script: Script, query: exp.Expr | None = None) -> None:
    """Refuse a relation with changelog rows that has a column with a reserved name, at its position in the query."""
    text = script.text.lower()
    if not any(name in text for name in _NAMES):
        return
    for node in walk_once(rows):
        name = next((name for name in node.schema.names if name.lower() in _NAMES), None)
        if name is not None and is_updating(node):
            raise TableColumnError(
                f"column name {name!r} is reserved for the engine where rows can be taken back",
                hint="give the column another name, in a query below the aggregation, join or ranking",
                at=_position(name, query, script),
            )


def _position(name: str, query: exp.Expr | None, script: Script) -> TextPosition | None:
    """Return the position at which a query first names the column; None if it does not."""
    if query is None:
        return None
    identifiers = (node for node in query.find_all(exp.Identifier, bfs=False) if node.name.lower() == name.lower())
    return script.position(next(identifiers, None))
