"""Select, rename and cast the columns of relations, so that two relations can be combined."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from engine import types
from engine.plan.expressions.calls import coerce
from engine.plan.expressions.expr import Column, Named, is_nullable
from engine.plan.nodes import Project
from engine.plan.tree import Node
from engine.schema import Field, Schema
from engine.sql.scope import Scope, ScopedRows


@dataclass(frozen=True, slots=True)
class NoRows(Node):
    """A relation with columns and without rows, for resolving names."""

    columns: Schema

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self.columns


def column_of(field: Field) -> Column:
    """Return the column of a field."""
    return Column(field.name, field.type, field.nullable)


def output_column(projection: Named) -> Column:
    """Return the column that a projected expression becomes."""
    return Column(projection.name, projection.expr.type, is_nullable(projection.expr))


def field_of(projection: Named) -> Field:
    """Return the field that a projected expression becomes."""
    return Field(projection.name, projection.expr.type, is_nullable(projection.expr))


def cast_columns(rows: Node, columns: Sequence[tuple[str, types.Type]]) -> Node:
    """Return the rows with columns of these names and types, by position."""
    projections = tuple(
        Named(name, coerce(column_of(field), kind)) for field, (name, kind) in zip(rows.schema, columns, strict=True)
    )
    return rows if all(is_passed_on(projection) for projection in projections) else Project(rows, projections)


def is_passed_on(projection: Named) -> bool:
    """Whether the expression is a column of the input under its own name."""
    return isinstance(projection.expr, Column) and projection.expr.name == projection.name


def rename_apart(side: ScopedRows, other: ScopedRows) -> ScopedRows:
    """Return the side with columns renamed if the other has one of the same name; the scope keeps the user's names."""
    other_names = {name.lower() for name in other.rows.schema.names}
    names = side.rows.schema.names
    if not any(name.lower() in other_names for name in names):
        return side
    used = {*other.rows.schema.names, *names}
    renamed: dict[str, str] = {}
    for name in names:
        renamed[name] = fresh_name(name, used) if name.lower() in other_names else name
        used.add(renamed[name])
    projections = tuple(Named(renamed[field.name], column_of(field)) for field in side.rows.schema)
    visible_columns = tuple(
        replace(visible, column=replace(visible.column, name=renamed[visible.column.name]), alias=visible.name)
        for visible in side.scope.columns
    )
    return ScopedRows(Project(side.rows, projections), Scope(visible_columns))


def fresh_name(name: str, used: Iterable[str]) -> str:
    """Return the name with the first number after it, from 2, that makes it unique."""
    used_names, number = {used_name.lower() for used_name in used}, 2
    while f"{name}_{number}".lower() in used_names:
        number += 1
    return f"{name}_{number}"
