"""INSERT: the rows of a query as the columns of their target."""

from __future__ import annotations

from collections.abc import Sequence

from engine import types
from engine.errors import ColumnCountError
from engine.plan.expressions.expr import Named
from engine.plan.nodes import Project
from engine.plan.tree import Node
from engine.schema import Field, Schema
from engine.sql.catalog import Entry, MemoryTable, SinkTable
from engine.sql.column_names import count_columns, usable_list
from engine.sql.query.relation_columns import cast_columns, column_of, is_passed_on
from engine.sql.scalar.calls import cast_for


def as_sink_columns(columns: Schema) -> Schema:
    """The columns as a sink can have them when nobody declared them: NULL may come into each by another INSERT, and one
    that is always NULL is text, and so is a part of JSON."""
    untyped = (types.Null(), types.JSON_PART)
    return Schema(
        tuple(
            Field(column.name, types.TEXT if column.type in untyped else column.type, nullable=True)
            for column in columns
        )
    )


def fit_columns(rows: Node, columns: Schema, table: str) -> Node:
    """The rows cast, by position, to the columns of their target."""
    if len(rows.schema) != len(columns):
        raise ColumnCountError(
            f"{table} has {count_columns(len(columns))}, and {len(rows.schema)} are inserted",
            hint=f"it takes {', '.join(f'{column.name} {column.type}' for column in columns)}",
        )
    projections = tuple(
        Named(column.name, cast_for(column_of(field), column.type, f"column {column.name!r} of {table}"))
        for field, column in zip(rows.schema, columns, strict=True)
    )
    return rows if all(is_passed_on(projection) for projection in projections) else Project(rows, projections)


def with_insert_names(rows: Node, names: Sequence[str] | None, target: Entry) -> Node:
    """The rows, once it is sure that the columns an INSERT names are all of the target's, in its order. A sink
    without columns takes their names."""
    if names is None:
        return rows
    if len(names) != len(rows.schema):
        raise ColumnCountError(
            f"the query has {count_columns(len(rows.schema))}, and names are given for {len(names)}",
            hint="name every column",
        )
    columns = target.columns if isinstance(target, SinkTable | MemoryTable) else None
    if columns is None:
        kinds = (field.type for field in rows.schema)
        return cast_columns(rows, list(zip(usable_list(names), kinds, strict=True)))
    if [name.lower() for name in names] != [name.lower() for name in columns.names]:
        raise ColumnCountError(
            "INSERT is positional: the named columns must be all of the table's, in its order",
            hint=f"write ({', '.join(columns.names)})",
        )
    return rows
