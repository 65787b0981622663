"""What is wrong with a connection or a table that is to be kept, and what a table that is right looks like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlglot import exp

from engine.connectors.base import Direction
from engine.connectors.kinds import Connector
from engine.connectors.options import known_names, parse_options
from engine.errors import EngineError, OptionValueError, ScriptRefused, TableColumnError
from engine.schema import Field
from engine.sql.catalog import LookupTable, SinkTable, SourceTable
from engine.sql.complaints import Complaints
from engine.sql.stored.spelling import StoredValue, spell_connection, spell_table
from engine.sql.tables.columns import read_columns
from engine.sql.tables.create_connection import Connection, Connections, connector_named, declare_connection
from engine.sql.tables.create_table import declare_table
from engine.sql.tables.written_options import given_options
from engine.sql.text.parse import Script, parse


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column, the key by which its connector fills it, and whether it is computed of the others."""

    field: Field
    metadata_key: str | None = None
    is_generated: bool = False


@dataclass(frozen=True, slots=True)
class CheckedTable:
    """What a table is, once there is nothing wrong with it."""

    entry: SourceTable | SinkTable | LookupTable
    direction: Direction
    columns: tuple[StoredColumn, ...]
    keys: tuple[str, ...]


def check_connection(name: str, connector: str, options: Mapping[str, StoredValue]) -> Connection:
    """The connection of that name. Raises ScriptRefused with all that is wrong, without places: there is no text."""
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
    """The table of that name. Raises ScriptRefused with all that is wrong, without places."""
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
    """The connector of that name; refused where there is none."""
    return connector_named(name)


@contextmanager
def without_places() -> Iterator[None]:
    """Take the places out of what is complained of: they are those of a text that nobody has written."""
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
    """The one statement of the text; columns that end it and begin another one are no columns."""
    wrong = TableColumnError(f"the columns of {name} cannot be read", hint="list them as CREATE TABLE does")
    if len(script.statements) != 1 or not isinstance(node := script.statements[0].node, exp.Create):
        raise wrong
    given = given_options(node, script, Complaints(), script.statements[0].at)
    if node.kind != "TABLE" or node.expression is not None or {option.name for option in given} != options:
        raise wrong
    return node
