"""CREATE TABLE: from its text to a source, a sink, a lookup table or a memory table.

Columns (`columns.py`) and options (`options.py`) are read on their own, so that the faults of both are found; what is
left is whether they fit together. Sources have a module of their own, as they also have an event time and computed
columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from sqlglot import exp

from engine import types
from engine.connectors import CONNECTORS, find_connector
from engine.connectors.base import Cache
from engine.connectors.kinds import Connector
from engine.connectors.options import ReadOptions, WithOption, read_table_options
from engine.errors import MemoryTableError, MissingOptionError, OptionValueError, TableColumnError, TextPosition
from engine.schema import Schema
from engine.sql.catalog import Entry, LookupTable, MemoryTable, SinkTable
from engine.sql.complaints import Complaints
from engine.sql.tables.columns import TableColumns, read_columns
from engine.sql.tables.create_connection import Connections, with_connection
from engine.sql.tables.declaration import Declaration
from engine.sql.tables.sinks import check_columns
from engine.sql.tables.source_tables import declare_source
from engine.sql.tables.written_options import as_lookup, given_options, is_temporary, option_named
from engine.sql.text.parse import Script


def declare_table(node: exp.Create, script: Script, connections: Connections) -> Entry:
    """The table that a CREATE TABLE declares. Raises ScriptRefused with all that is wrong with it."""
    target, written = (node.this.this, node.this.expressions) if isinstance(node.this, exp.Schema) else (node.this, [])
    at = script.position(target) or TextPosition(1, 1)
    complaints = Complaints()
    columns = read_columns(written, script, complaints)
    options = given_options(node, script, complaints, at)
    with complaints.collect(at):
        options = with_connection(options, connections)
    # Still there when there is no such connection: then nothing can be said of the other options.
    if option_named("connection_profile", options):
        complaints.raise_any()
    is_lookup, connector_option = is_temporary(node), option_named("connector", options)
    if is_lookup and connector_option is None:
        hint = "a temporary table is looked up in a connector"
        complaints.add(MissingOptionError("option 'connector' is required", hint=hint, at=at))
    if connector_option is None or connector_option.value == "memory":
        complaints.raise_any()
        return _memory_table(target.name, columns, options)
    connector = _connector(connector_option, complaints)
    positions = {option.name: option.at for option in options}
    read: ReadOptions | None = None
    with complaints.collect(at):
        connector_options = _connector_options(connector_option, options, at, is_lookup=is_lookup)
        read = read_table_options(connector, connector_options, table=target.name, at=at)
    complaints.raise_any()
    assert read is not None, "reading options has failed without a complaint"
    return _entry(Declaration(target.name, connector, columns, read, script, at, positions))


def _connector_options(
    connector: WithOption, options: Sequence[WithOption], at: TextPosition, *, is_lookup: bool
) -> list[WithOption]:
    """The options that the connector reads: all but the one that names it."""
    connector_options = [option for option in options if option is not connector]
    return as_lookup(connector_options, at) if is_lookup else connector_options


def _connector(option: WithOption, complaints: Complaints) -> Connector:
    connector = find_connector(str(option.value))
    if connector is None:
        names = ", ".join(declared.name for declared in CONNECTORS if not declared.hidden)
        complaints.add(
            OptionValueError(f"there is no connector {option.value!r}", hint=f"there are {names}", at=option.at)
        )
        complaints.raise_any()
    assert connector is not None, "a complaint was added"
    return connector


def _memory_table(name: str, columns: TableColumns, options: Sequence[WithOption]) -> MemoryTable:
    if any(option.name != "connector" for option in options):
        raise MemoryTableError("a table without a connector takes no options", hint="set the option 'connector'")
    if columns.generated or columns.metadata or columns.watermark:
        raise MemoryTableError(f"memory table {name} can only have plain columns", hint="compute them in the INSERT")
    if not columns.physical:
        raise MemoryTableError(f"memory table {name} needs columns", hint="or set the 'connector' option")
    return MemoryTable(Schema(columns.physical))


def _entry(declaration: Declaration) -> Entry:
    direction = declaration.options.direction
    sink = declaration.connector.sink
    takes_dead_letters = direction == "source" or (sink is not None and sink.may_refuse_rows)
    if declaration.options.general.bad_data == "dead_letter" and not takes_dead_letters:
        raise OptionValueError(
            f"bad_data = 'dead_letter' is not supported for {declaration.name}: it is only for sources, and for sinks "
            "that can refuse a row",
            hint="write bad_data = 'drop', or leave it out",
            at=declaration.positions["bad_data"],
        )
    match direction:
        case "source":
            return declare_source(declaration)
        case "sink":
            return _sink(declaration)
        case "lookup":
            return _lookup(declaration)
        case never:
            assert_never(never)


def _sink(declaration: Declaration) -> SinkTable:
    columns = declaration.columns
    if columns.generated or columns.metadata or columns.watermark:
        raise TableColumnError(
            f"sink {declaration.name} can only have plain columns", hint="compute them in the INSERT", at=declaration.at
        )
    schema = Schema(columns.physical) if columns.physical else None
    table = declaration.table(schema or Schema(()))
    return SinkTable(table, schema, declaration.positions.get("dead_letter.table"))


def _lookup(declaration: Declaration) -> LookupTable:
    name, columns, at = declaration.name, declaration.columns, declaration.at
    if columns.generated or columns.watermark:
        raise TableColumnError(
            f"lookup table {name} can only have plain and metadata columns", hint="compute them in the query", at=at
        )
    if len(columns.keys) != 1:
        raise TableColumnError(
            f"lookup table {name} has {len(columns.keys)} PRIMARY KEY columns, and needs one",
            hint="write PRIMARY KEY after the column that rows are looked up by",
            at=at,
        )
    complaints = Complaints()
    fields = {field.name: field for field in (*columns.physical, *declaration.metadata_fields(complaints))}
    complaints.raise_any()
    general = declaration.options.general
    cache = Cache(general.lookup_cache_max_bytes, general.lookup_cache_ttl)
    table = replace(declaration.table(Schema(columns.physical), declaration.filled()), cache=cache)
    check_columns(table)
    key = fields[columns.keys[0]]
    if isinstance(key.type, types.Struct | types.Array):
        raise TableColumnError(
            f"lookup table {name} cannot be looked up by {key.name!r}, which is of type {key.type}",
            hint="a key is a number, a text, a time or the like",
            at=at,
        )
    return LookupTable(table, Schema(tuple(fields[column] for column in columns.order)), key.name)
