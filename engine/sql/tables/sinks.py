"""Sinks as queries write them: with the columns of what is inserted, and with changes where rows change."""

from __future__ import annotations

from dataclasses import replace

from engine.connectors import CONNECTORS, connector_of, kind_of, sink_kind_of
from engine.connectors.base import Table
from engine.connectors.options import WithOption, read_table_options
from engine.errors import OptionValueError, TextPosition, UpdatingQueryError
from engine.formats import find_format
from engine.formats.debezium.format import DEBEZIUM_JSON
from engine.schema import Schema


def with_columns(table: Table, columns: Schema) -> Table:
    """The sink with the columns of what is inserted; refused when they do not fit its connector or format."""
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
    """The sink as it takes rows that are changed afterwards; refused when it cannot. One that only shows its rows, or
    that nobody declared, shows them as changes."""
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
    """The sink for the rows of a bare SELECT."""
    declared = next(candidate for candidate in CONNECTORS if candidate.name == connector)
    at = TextPosition(1, 1)
    options = read_table_options(declared, [WithOption("type", "sink", at)], table=name, at=at)
    return Table(name, connector, "sink", options.connector, columns, options.format)
