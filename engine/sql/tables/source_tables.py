"""Sources: a scan of what is decoded, with the computed columns on top.

    CREATE TABLE s (id BIGINT, day DATE GENERATED ALWAYS AS (at::DATE), at TIMESTAMP) WITH (...)

    Scan     id, at, as the connector and the format give them, with event time and watermark
    Project  id, cast(at as DATE) as day, at, in the order of the text

The computed columns see only what is decoded, not each other.
"""

from __future__ import annotations

from engine.errors import EventTimeError, OptionValueError, TableColumnError
from engine.formats import find_format
from engine.plan.expressions.delays import fixed_delay
from engine.plan.expressions.expr import Column, Expr, Named
from engine.plan.nodes import Project, Scan
from engine.plan.tree import Node
from engine.schema import Field, Schema
from engine.sql.catalog import SourceTable
from engine.sql.complaints import Complaints
from engine.sql.scalar.calls import cast_for
from engine.sql.scalar.expressions import Expressions
from engine.sql.scope import Scope, Visible
from engine.sql.tables.declaration import Declaration
from engine.sql.tables.event_time import CONNECTOR_TIME, EventTimes
from engine.sql.tables.sinks import check_columns


def declare_source(declaration: Declaration) -> SourceTable:
    """The source that a CREATE TABLE declares."""
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
    """The columns that are decoded; a connector with columns of its own needs no list of them."""
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
    """Whether the records say what is done to rows; then times and values must be those of the rows themselves."""
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
