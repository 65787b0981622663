"""The names that a script uses and does not declare itself, as far as it can be read.

    CREATE TABLE out WITH (connector = 'kafka', connection_profile = 'shop', ...);
    INSERT INTO out SELECT plus(n) FROM orders

uses the table `orders`, the connection `shop` and the function `plus`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from engine.connectors.options import WithOption
from engine.errors import EngineError, TextPosition
from engine.sql.complaints import Complaints
from engine.sql.tables.create_connection import CONNECTION
from engine.sql.tables.written_options import given_options
from engine.sql.text.parse import Script, parse

_NAMES_TABLE = frozenset({"dead_letter.table", "late_rows"})


@dataclass(frozen=True, slots=True)
class UsedNames:
    """All in lower case, as names are found."""

    tables: frozenset[str] = frozenset()
    connections: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()


def used_names(text: str) -> UsedNames:
    """The names that a script uses beside its own. What cannot be read uses none: whoever compiles it says why."""
    try:
        script = parse(text)
    except EngineError:
        return UsedNames()
    declared: dict[bool, set[str]] = {True: set(), False: set()}
    tables, connections, functions = set[str](), set[str](), set[str]()
    for statement in script.statements:
        node = statement.node
        if node is None:
            continue
        target = _declared(node)
        if target is not None and isinstance(node, exp.Create):
            declared[node.kind == CONNECTION].add(target.name.lower())
        tables |= {table.name.lower() for table in node.find_all(exp.Table) if table is not target}
        functions |= {call.name.lower() for call in node.find_all(exp.Anonymous)}
        for option in _options(node, script, statement.at):
            if option.name == "connection_profile":
                connections.add(str(option.value).lower())
            if option.name in _NAMES_TABLE:
                tables.add(str(option.value).lower())
    return UsedNames(frozenset(tables - declared[False]), frozenset(connections - declared[True]), frozenset(functions))


def _declared(node: exp.Expr) -> exp.Expr | None:
    """Return the object that a CREATE declares."""
    if not isinstance(node, exp.Create):
        return None
    target = node.this.this if isinstance(node.this, exp.Schema) else node.this
    return target if isinstance(target, exp.Table) else None


def _options(node: exp.Expr, script: Script, at: TextPosition) -> Iterator[WithOption]:
    if isinstance(node, exp.Create):
        yield from given_options(node, script, Complaints(), at)
