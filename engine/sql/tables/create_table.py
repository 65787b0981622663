"""CREATE TABLE: translate to a source, a sink, a lookup table or a memory table.

Columns (`columns.py`) and options (`options.py`) are parsed separately, so that errors in both are found; then they are
checked together. Sources have a module of their own, since they also have an event time and generated columns.

Sources: a scan of the decoded columns, with the generated columns above it.

    CREATE TABLE s (id BIGINT, day DATE GENERATED ALWAYS AS (at::DATE), at TIMESTAMP) WITH (...)

    Scan     id, at, from the connector and the format, with event time and watermark
    Project  id, cast(at as DATE) as day, at, in the order of the text

Generated columns can use decoded columns, but not each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from sqlglot import exp

from engine import types
from engine.connectors import CONNECTORS, connector_of, find_connector, kind_of, offered_connectors, sink_kind_of
from engine.connectors.base import Cache, Table
from engine.connectors.kinds import Connector
from engine.connectors.options import ReadOptions, WithOption, read_table_options
from engine.errors import (
    EventTimeError,
    MemoryTableError,
    MissingOptionError,
    OptionValueError,
    TableColumnError,
    TextPosition,
    UpdatingQueryError,
)
from engine.formats import find_format
from engine.formats.debezium.format import DEBEZIUM_JSON
from engine.plan.expressions.expr import Column, Expr, Named
from engine.plan.nodes import Project, Scan
from engine.plan.times import fixed_delay
from engine.plan.tree import Node
from engine.schema import Field, Schema
from engine.sql.catalog import Complaints, Entry, LookupTable, MemoryTable, SinkTable, SourceTable
from engine.sql.scalar.comparisons import cast_for
from engine.sql.scalar.expressions import Expressions
from engine.sql.scope import Scope, Visible
from engine.sql.tables.columns import CONNECTOR_TIME, EventTimes, MetadataColumn, TableColumns, read_columns
from engine.sql.tables.create_connection import Connections, with_connection
from engine.sql.tables.written_options import as_lookup, given_options, is_temporary, option_named
from engine.sql.text.parse import Script
from engine.values.near_names import did_you_mean


def declare_table(node: exp.Create, script: Script, connections: Connections) -> Entry:
    """Return the table that a CREATE TABLE declares. Raise ScriptRefused with all errors."""
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
    """Return the options for the connector: all except the one that names it."""
    connector_options = [option for option in options if option is not connector]
    return as_lookup(connector_options, at) if is_lookup else connector_options


def _connector(option: WithOption, complaints: Complaints) -> Connector:
    connector = find_connector(str(option.value))
    if connector is None:
        names = [offered.name for offered in offered_connectors()]
        hint = did_you_mean(str(option.value), names) or f"there are {', '.join(names)}"
        complaints.add(OptionValueError(f"there is no connector {option.value!r}", hint=hint, at=option.at))
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


def declare_source(declaration: Declaration) -> SourceTable:
    """Return the source that a CREATE TABLE declares."""
    complaints = Complaints()
    columns, connector = declaration.columns, declaration.connector
    physical = _physical(declaration)
    visible = (*physical, *declaration.metadata_fields(complaints))
    decoded = tuple(Column(field.name, field.type, field.nullable) for field in visible)
    generated = _generated(declaration, decoded, complaints)
    complaints.raise_any()
    values: dict[str, Expr] = {column.name: column for column in decoded} | generated
    event_time, watermark = EventTimes(
        declaration.name, connector, columns, declaration.options.general, declaration.script, declaration.positions
    ).read(values)
    if declaration.options.general.quiet_after is not None and fixed_delay(event_time, watermark) is None:
        complaints.add(OptionValueError(_NO_DELAY, hint=_DELAY), declaration.positions["quiet_after"])
    if not visible:
        raise TableColumnError(f"source {declaration.name} has no columns", hint="declare them", at=declaration.at)
    filled = declaration.filled()
    if connector.event_time is not None:
        filled = (*filled, (CONNECTOR_TIME, connector.event_time))
    table = declaration.table(Schema(physical), filled)
    check_columns(table)
    is_changes = _carries_changes(declaration, complaints)
    complaints.raise_any()
    schema = Schema(visible)
    rows: Node = Scan(declaration.name, schema, event_time, watermark, is_changes)
    order = columns.order or Schema(physical).names
    if generated or order != schema.names:
        rows = Project(rows, tuple(Named(name, values[name]) for name in order))
    late_rows = declaration.options.general.late_rows
    return SourceTable(
        table,
        rows,
        declaration.positions.get("dead_letter.table"),
        None if late_rows == "drop" else late_rows,
        declaration.positions.get("late_rows"),
    )


def _generated(declaration: Declaration, decoded: tuple[Column, ...], complaints: Complaints) -> dict[str, Expr]:
    scope = Scope(tuple(Visible(declaration.name, column) for column in decoded))
    expressions = Expressions(declaration.script, scope)
    values: dict[str, Expr] = {}
    for column in declaration.columns.generated:
        with complaints.collect(declaration.script.position(column.written)):
            value = expressions.translate(column.written)
            values[column.field.name] = cast_for(value, column.field.type, f"column {column.field.name!r}")
    return values


def _physical(declaration: Declaration) -> tuple[Field, ...]:
    """Return the decoded columns; a connector with columns of its own needs no list of them."""
    written, schema = declaration.columns.physical, declaration.connector.schema
    if schema is None:
        return written
    for field in written:
        connectors_field = schema.find(field.name)
        if connectors_field is None or connectors_field.type != field.type:
            listing = ", ".join(f"{column.name} {column.type}" for column in schema)
            raise TableColumnError(
                f"connector {declaration.connector.name} has no column {field.name} {field.type}",
                hint=f"it has {listing}; the list can be left out",
                at=declaration.at,
            )
    return written or tuple(schema)


def _carries_changes(declaration: Declaration, complaints: Complaints) -> bool:
    """Whether the records describe changes of rows; then times and values must be those of the rows themselves."""
    form, columns, script = declaration.options.format, declaration.columns, declaration.script
    if form is None or not find_format(form.format).carries_changes:
        return False
    for name in ("event_time_field", "watermark_field"):
        if name in declaration.positions:
            error = EventTimeError(f"a source of changes cannot have {name}", hint=_NO_TIME)
            complaints.add(error, declaration.positions[name])
    if columns.watermark is not None:
        error = EventTimeError("a source of changes cannot have WATERMARK FOR", hint=_NO_TIME)
        complaints.add(error, script.position(columns.watermark))
    for column in columns.generated:
        message = "a source of changes cannot have computed columns"
        complaints.add(TableColumnError(message, hint="compute them in the query"), script.position(column.written))
    if not any(field.name in columns.keys for field in columns.physical):
        message = "a source of changes needs a PRIMARY KEY"
        hint = "write PRIMARY KEY after the column that identifies a row"
        complaints.add(TableColumnError(message, hint=hint), declaration.at)
    return True


_NO_TIME = "rows that change are never late; leave it out"
_NO_DELAY = "option 'quiet_after' needs a watermark that is the event time less a fixed length of time"
_DELAY = "declare WATERMARK FOR column AS column - INTERVAL '5 seconds', or leave the option out"


Filled = tuple[str, str]
"""A column, and its metadata key."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """Parsed declaration of a table; `positions` has the position of each option."""

    name: str
    connector: Connector
    columns: TableColumns
    options: ReadOptions
    script: Script
    at: TextPosition
    positions: Mapping[str, TextPosition]

    def table(self, schema: Schema, metadata: Sequence[Filled] = ()) -> Table:
        """Return the table for its connector: `schema` are the columns that are decoded or encoded."""
        general = self.options.general
        return Table(
            name=self.name,
            connector=self.connector.name,
            direction=self.options.direction,
            options=self.options.connector,
            schema=schema,
            format=self.options.format,
            metadata=tuple(metadata),
            bad_data=general.bad_data,
            bad_data_check=general.bad_data_check,
            dead_letter_directory=general.dead_letter_path,
            dead_letter_table=general.dead_letter_table,
            idle_time=general.idle_after,
            quiet_after=general.quiet_after,
            framing=general.framing,
            framing_max_length=general.framing_newline_max_length,
            primary_key=self.columns.keys,
        )

    def metadata_fields(self, complaints: Complaints) -> tuple[Field, ...]:
        """Return the columns that the connector fills; an unknown one is added to the complaints."""
        for column in self.columns.metadata:
            with complaints.collect(self.script.position(column.written)):
                self._check_metadata(column)
        return tuple(column.field for column in self.columns.metadata)

    def filled(self) -> tuple[Filled, ...]:
        """Return the metadata columns, each with the key that the connector fills in."""
        return tuple((column.field.name, column.key) for column in self.columns.metadata)

    def _check_metadata(self, column: MetadataColumn) -> None:
        declared = self.connector.metadata.get(column.key)
        if declared is None:
            names = ", ".join(self.connector.metadata) or "none"
            raise TableColumnError(f"there is no metadata field '{column.key}'", hint=f"this connector has: {names}")
        if declared.type != column.field.type:
            raise TableColumnError(
                f"metadata field '{column.key}' is of type {declared.type}, not {column.field.type}",
                hint=f"declare the column as {declared.type}",
            )


def with_columns(table: Table, columns: Schema) -> Table:
    """Return the sink with the columns of its rows; raise if they do not fit its connector or format."""
    sink = replace(table, schema=columns)
    check_columns(sink)
    return sink


def check_columns(table: Table) -> None:
    """Refuse columns that the connector or the format of a table cannot carry."""
    complaint = kind_of(table).check(table)
    if complaint is None and table.format is not None:
        form = find_format(table.format.format)
        complaint = form.check(table.format, table.schema, table.direction, table.connector)
    if complaint is not None:
        raise OptionValueError(f"table {table.name}: {complaint}")


def taking_changes(table: Table, *, is_anonymous: bool) -> Table:
    """Return the sink prepared for changelog rows; raise if it cannot take them. One that only shows its rows, or that
    is undeclared, shows them as changes."""
    connector, sink = connector_of(table), sink_kind_of(table)
    if sink.drops_all or (table.format is not None and find_format(table.format.format).carries_changes):
        return table
    if (is_anonymous or sink.only_shows) and DEBEZIUM_JSON.name in connector.formats:
        return replace(table, format=DEBEZIUM_JSON.options.model_validate({}))
    raise UpdatingQueryError(
        "the rows are changed afterwards, and the sink cannot take changes",
        hint="use format = 'debezium_json', or aggregate within a time window, which gives every result once",
    )


def anonymous_sink(name: str, connector: str, columns: Schema) -> Table:
    """Return the sink for the rows of a bare SELECT."""
    declared = next(candidate for candidate in CONNECTORS if candidate.name == connector)
    at = TextPosition(1, 1)
    options = read_table_options(declared, [WithOption("type", "sink", at)], table=name, at=at)
    return Table(name, connector, "sink", options.connector, columns, options.format)
