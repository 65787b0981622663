"""Validate a connection or a table before it is stored, and describe a valid table.

Generate a script that reads dead letters again.

The table rejected has records that orders (id BIGINT NOT NULL, name TEXT) could not decode:

    CREATE TABLE "rejected" ("source" TEXT, "record" TEXT) WITH ('connector' = 'filesystem', 'type' = 'source', ...);
    SELECT TRY_CAST("record" ->> 'id' AS BIGINT) AS "id", "record" ->> 'name' AS "name", "record"
    FROM "rejected" WHERE "source" = 'orders';

Values that cannot be decoded are NULL. The user corrects the query, and inserts the rows into the sink of orders.

Find the names that a script uses without declaring them, as far as it can be parsed.

    CREATE TABLE out WITH (connector = 'kafka', connection_profile = 'shop', ...);
    INSERT INTO out SELECT plus(n) FROM orders

uses the table `orders`, the connection `shop` and the function `plus`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from sqlglot import exp

from engine import types
from engine.connectors.base import Direction, Table
from engine.connectors.kinds import Connector
from engine.connectors.options import WithOption, known_names, parse_options
from engine.errors import EngineError, OptionValueError, ScriptRefused, TableColumnError, TextPosition
from engine.schema import Field
from engine.sql.catalog import Complaints, LookupTable, SinkTable, SourceTable
from engine.sql.stored.spelling import StoredValue, spell_connection, spell_name, spell_table
from engine.sql.tables.columns import read_columns
from engine.sql.tables.create_connection import CONNECTION, Connection, Connections, connector_named, declare_connection
from engine.sql.tables.create_table import declare_table
from engine.sql.tables.written_options import given_options
from engine.sql.text.parse import Script, parse


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column, its metadata key, and whether it is generated."""

    field: Field
    metadata_key: str | None = None
    is_generated: bool = False


@dataclass(frozen=True, slots=True)
class CheckedTable:
    """Description of a valid table."""

    entry: SourceTable | SinkTable | LookupTable
    direction: Direction
    columns: tuple[StoredColumn, ...]
    keys: tuple[str, ...]


def check_connection(name: str, connector: str, options: Mapping[str, StoredValue]) -> Connection:
    """Return the connection of that name. Raise ScriptRefused with all errors, without positions, since there is no
    text."""
    text = spell_connection(name, connector, options)
    with without_places():
        script = parse(text)
        node = script.statements[0].node
        assert isinstance(node, exp.Create), text
        connection = declare_connection(node, script, script.statements[0].at)
        model = connector_named(connector).connection
        if model is not None:
            own = [option for option in connection.options if option.name in known_names(model)]
            parse_options(model, own, table=name)
    return replace(connection, is_own=False)


def check_table(
    name: str, connector: str, columns: str, options: Mapping[str, StoredValue], connections: Connections
) -> CheckedTable:
    """Return the table of that name. Raise ScriptRefused with all errors, without positions."""
    text = spell_table(name, connector, columns, options)
    with without_places():
        script = parse(text)
        if script.complaints:
            raise ScriptRefused(script.complaints)
        node = _only_statement(script, name, {"connector", *options})
        entry = declare_table(node, script, connections)
        if not isinstance(entry, SourceTable | SinkTable | LookupTable):
            raise OptionValueError("a table that is kept has a connector", hint="name one that is not 'memory'")
    listed = node.this.expressions if isinstance(node.this, exp.Schema) else []
    read = read_columns(listed, script, Complaints())
    by_name = {column.name: StoredColumn(column) for column in read.physical}
    by_name |= {column.field.name: StoredColumn(column.field, column.key) for column in read.metadata}
    by_name |= {column.field.name: StoredColumn(column.field, is_generated=True) for column in read.generated}
    ordered = tuple(by_name[column] for column in read.order)
    if not ordered:
        ordered = tuple(map(StoredColumn, entry.table.schema))
    return CheckedTable(entry, entry.table.direction, ordered, read.keys)


def stored_connector(name: str) -> Connector:
    """Return the connector of that name; raise if there is none."""
    return connector_named(name)


@contextmanager
def without_places() -> Iterator[None]:
    """Remove the positions from errors: they refer to a generated text."""
    try:
        yield
    except ScriptRefused as refused:
        for complaint in refused.complaints:
            complaint.at = None
        raise ScriptRefused(refused.complaints) from refused
    except EngineError as error:
        error.at = None
        raise


def _only_statement(script: Script, name: str, options: set[str]) -> exp.Create:
    """Return the only statement of the text; raise for columns that end it and begin another one."""
    wrong = TableColumnError(f"the columns of {name} cannot be read", hint="list them as CREATE TABLE does")
    if len(script.statements) != 1 or not isinstance(node := script.statements[0].node, exp.Create):
        raise wrong
    given = given_options(node, script, Complaints(), script.statements[0].at)
    properties = node.args.get("properties")
    # an option that is written twice comes from the columns: of two, the last one counts
    is_as_spelt = len(properties.expressions if properties else ()) == len(options)
    if node.kind != "TABLE" or node.expression is not None or not is_as_spelt:
        raise wrong
    if {option.name for option in given} != options:
        raise wrong
    return node


_PLAIN = (types.Boolean, types.Integer, types.Float, types.Decimal, types.Timestamp, types.Date)


def replay_script(letters: Table, place: Path, sources: Sequence[Table]) -> str | None:
    """Return the script that replays records of JSON sources; None if a dead-letter table lacks the necessary
    columns."""
    columns = {field.name: field.type for field in letters.schema}
    if columns.get("record") != types.TEXT or letters.format is None:
        return None
    readable = [table for table in sources if table.format is not None and table.format.format == "json"]
    if not readable or (len(readable) > 1 and "source" not in columns):
        return None
    listed = ", ".join(f"{spell_name(name)} {kind}" for name, kind in columns.items())
    options = {"type": "source", "path": str(place), "format": letters.format.format}
    head = "-- Records that could not be read, once more: mend the expressions, then insert the rows where they belong."
    declared = spell_table(letters.name, letters.connector, listed, options)
    has_source = "source" in columns
    return "\n".join([head, declared, *(_select(letters, table, has_source) for table in readable)]) + "\n"


def _select(letters: Table, table: Table, has_source: bool) -> str:
    items = ",\n  ".join([*_items(table), spell_name("record")])
    name = table.name.replace("'", "''")
    where = f" WHERE {spell_name('source')} = '{name}'" if has_source else ""
    return f"\n-- of {' '.join(table.name.split())}\nSELECT {items}\nFROM {spell_name(letters.name)}{where};"


def _items(table: Table) -> Iterator[str]:
    for field in table.schema:
        key = field.name.replace("'", "''")
        text = f"{spell_name('record')} ->> '{key}'"
        value = f"TRY_CAST({text} AS {field.type})" if isinstance(field.type, _PLAIN) else text
        yield f"{value} AS {spell_name(field.name)}"


_NAMES_TABLE = frozenset({"dead_letter.table", "late_rows"})


@dataclass(frozen=True, slots=True)
class UsedNames:
    """Used names in lower case."""

    tables: frozenset[str] = frozenset()
    connections: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()


def used_names(text: str) -> UsedNames:
    """Return the names that a script uses in addition to its own. An invalid script uses none: its compilation reports
    why."""
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
