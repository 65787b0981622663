"""Sinks for the late rows of a source: an option names them, and no query writes them.

    INSERT INTO counts SELECT ... FROM (SELECT upper(key) AS k FROM s WHERE n > 0) GROUP BY tumble(INTERVAL '1 hour')

    counts   WindowAggregate by tumble <- Project upper(key) AS k <- Filter n > 0 <- Scan s
    late     LateRows of tumble <- Project upper(key) AS k, late_n <- Filter n > 0 <- Project n, n AS late_n <- Scan s

They are the rows that windows omit as late; rows that a query filters out before are not included. The source's columns
are carried along with those of the query, under names that no query has.

Sinks for records that a source cannot decode, or rows that a sink refuses: an option names them, and no query writes
them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from engine.connectors.base import Table
from engine.connectors.dead_letters import DEAD_LETTER_COLUMNS
from engine.errors import OptionValueError
from engine.plan.expressions.expr import Column, Named
from engine.plan.nodes import (
    LATE_TIME,
    LATE_WATERMARK,
    Filter,
    LateRows,
    Project,
    Scan,
    WindowAggregate,
    Write,
    pass_through,
)
from engine.plan.tree import Node, walk
from engine.schema import Field, Schema
from engine.sql.catalog import Catalog, Complaints, SinkTable, SourceTable
from engine.sql.tables.create_table import with_columns

_TIMES: Mapping[str, Field] = {"event_time": LATE_TIME, "watermark": LATE_WATERMARK}
_PREFIX = "__late_column_"


@dataclass(frozen=True, slots=True)
class LateRowWrite:
    """A sink for late rows, and the rows written to it."""

    write: Write
    table: Table


def late_row_writes(catalog: Catalog, writes: Sequence[Write], complaints: Complaints) -> list[LateRowWrite]:
    """Return the writes of late rows into the sinks that source tables name; add errors to the complaints."""
    uses = {write.table: "the target of an INSERT" for write in writes}
    late_writes: list[LateRowWrite] = []
    for _, source in catalog.entries.values():
        if isinstance(source, SourceTable) and source.late_rows is not None:
            with complaints.collect(source.late_rows_at):
                sink = _sink(catalog, source.late_rows)
                if (use := uses.get(sink.table.name)) is not None:
                    raise OptionValueError(
                        f"{sink.table.name} takes the late rows of {source.table.name} and cannot be {use} as well",
                        hint="give one of the two another table",
                    )
                uses[sink.table.name] = f"the table for those of {source.table.name}"
                columns = _checked_columns(sink, source.rows.schema)
                if source.table.name in catalog.read_tables:
                    rows = _late_rows(source, writes, columns)
                    late_writes.append(LateRowWrite(Write(rows, sink.table.name), with_columns(sink.table, columns)))
    return late_writes


def _sink(catalog: Catalog, name: str) -> SinkTable:
    entry = catalog.find(name)
    if not isinstance(entry, SinkTable):
        raise OptionValueError(
            f"late_rows {name!r} is not a sink", hint="declare it with type = 'sink', or write 'drop'"
        )
    return entry


def _checked_columns(sink: SinkTable, source: Schema) -> Schema:
    fields = {**{field.name.lower(): field for field in source}, **_TIMES}
    menu = ", ".join(f"{name} {field.type}" for name, field in fields.items())
    if sink.columns is None:
        raise OptionValueError(f"{sink.table.name} takes late rows and needs columns", hint=f"declare some of {menu}")
    for column in sink.columns:
        field = fields.get(column.name.lower())
        if field is None:
            near = get_close_matches(column.name.lower(), fields, n=1)
            raise OptionValueError(
                f"{sink.table.name} takes late rows, which have no column {column.name!r}",
                hint=f"did you mean {near[0]}?" if near else f"there are {menu}",
            )
        if field.type != column.type:
            raise OptionValueError(f"column {column.name} of {sink.table.name} must be {field.type}, not {column.type}")
    return sink.columns


def _late_rows(source: SourceTable, writes: Sequence[Write], columns: Schema) -> Node:
    windows = _windows_over(source, writes)
    name = source.table.name
    if not windows:
        raise OptionValueError(f"no window reads {name}, so none of its rows is late", hint="leave late_rows out")
    if len(windows) > 1:
        raise OptionValueError(
            f"several windows read {name}, and a row may be late for one of them and not for another",
            hint="declare the table once for each of them, with a sink of its own for late rows",
        )
    late = windows[0]
    names = {field.name.lower(): field for field in source.rows.schema}
    fields = [names[column.name.lower()] for column in columns if column.name.lower() not in _TIMES]
    widened = LateRows(_with_source_columns(late.input, source.rows, fields), late.window)
    return Project(widened, tuple(_late_column(column, names) for column in columns))


def _late_column(column: Field, source: Mapping[str, Field]) -> Named:
    field = _TIMES.get(column.name.lower())
    if field is None:
        field = source[column.name.lower()]
        return Named(column.name, Column(_PREFIX + field.name, field.type, field.nullable))
    return Named(column.name, Column(field.name, field.type, nullable=False))


def _windows_over(source: SourceTable, writes: Sequence[Write]) -> list[LateRows]:
    """Return the late rows of each window that the rows of a source reach first."""
    windows: list[LateRows] = []
    for write in writes:
        for node in walk(write):
            if isinstance(node, WindowAggregate) and node.is_incremental and _reads(node.input, source.table.name):
                late = LateRows(node.input, node.window)
                if late not in windows:
                    _check_way(late.input, source)
                    windows.append(late)
    return windows


def _reads(rows: Node, table: str) -> bool:
    return any(isinstance(node, Scan) and node.table == table for node in walk(rows))


def _check_way(rows: Node, source: SourceTable) -> None:
    while rows != source.rows:
        if not isinstance(rows, Project | Filter):
            raise OptionValueError(
                f"the rows of {source.table.name} are joined, united or unnested before a window takes them, so which "
                "of them are late is not known",
                hint="write late_rows = 'drop', or let the window read the table itself",
            )
        rows = rows.input


def _with_source_columns(rows: Node, source_rows: Node, fields: Collection[Field]) -> Node:
    """Return the rows with additional columns of the source."""
    if rows == source_rows:
        copies = (Named(_PREFIX + field.name, Column(field.name, field.type, field.nullable)) for field in fields)
        return Project(rows, (*pass_through(rows.schema), *copies))
    assert isinstance(rows, Project | Filter)
    wider = _with_source_columns(rows.input, source_rows, fields)
    if isinstance(rows, Filter):
        return Filter(wider, rows.condition)
    carried = pass_through(Field(_PREFIX + field.name, field.type, field.nullable) for field in fields)
    return Project(wider, (*rows.columns, *carried))


def with_dead_letter_tables(catalog: Catalog, written: Mapping[str, Table], complaints: Complaints) -> dict[str, Table]:
    """Return the tables that are read and written, and the sinks that they name for their dead letters; errors in these
    are added to the complaints."""
    used = {**catalog.read_tables, **written}
    tables = dict(used)
    for _, entry in catalog.entries.values():
        if isinstance(entry, SourceTable | SinkTable) and entry.table.dead_letter_table is not None:
            with complaints.collect(entry.dead_letters_at):
                table = _dead_letter_table(catalog, entry.table.dead_letter_table, written)
                if (named := used.get(entry.table.name)) is not None:
                    tables[table.name] = table
                    tables[named.name] = replace(named, dead_letter_table=table.name)
    return tables


def _dead_letter_table(catalog: Catalog, name: str, written: Collection[str]) -> Table:
    entry = catalog.find(name)
    if not isinstance(entry, SinkTable):
        raise OptionValueError(f"dead_letter.table {name!r} is not a sink", hint="declare it with type = 'sink'")
    if entry.table.dead_letter_table is not None:
        raise OptionValueError(
            f"{name} takes dead letters and cannot name a table for its own dead letters",
            hint="name a directory there, with dead_letter.path",
        )
    if entry.table.name in written:
        raise OptionValueError(
            f"{name} takes dead letters and cannot be the target of an INSERT as well",
            hint="give one of the two another table",
        )
    if entry.columns is None:
        raise OptionValueError(f"{name} takes dead letters and needs columns", hint=f"declare some of {_MENU}")
    for field in entry.columns:
        types = DEAD_LETTER_COLUMNS.get(field.name.lower())
        if types is None:
            near = get_close_matches(field.name.lower(), DEAD_LETTER_COLUMNS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {_MENU}"
            raise OptionValueError(f"{name} takes dead letters, which have no column {field.name!r}", hint=hint)
        if field.type not in types:
            listing = " or ".join(map(str, types))
            raise OptionValueError(f"column {field.name} of {name} must be {listing}, not {field.type}")
    return with_columns(entry.table, entry.columns)


_MENU = ", ".join(f"{name} {' or '.join(map(str, types))}" for name, types in DEAD_LETTER_COLUMNS.items())
