"""Columns of changes that are called like what changes carry beside their columns (`plan/hidden.py`).

SELECT _id, count(*) FROM events GROUP BY _id

The row of a key would have two columns `_id`: the key, and what all versions of the row are known by.
"""

from __future__ import annotations

from sqlglot import exp

from engine.errors import TableColumnError, TextPosition
from engine.plan.hidden import RETRACT, ROW_ID
from engine.plan.nodes import is_updating
from engine.plan.tree import Node, walk_once
from engine.sql.text.parse import Script

_NAMES = (ROW_ID, RETRACT)


def refuse_names_of_changes(rows: Node, script: Script, query: exp.Expr | None = None) -> None:
    """Refuse a relation whose rows can be taken back and that has a column of such a name, where its query says it."""
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
