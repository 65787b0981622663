"""Relations that look at one row at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.plan.expressions.expr import Column, Expr, Named, columns_of, is_nullable
from engine.plan.hidden import EVENT_TIME
from engine.plan.tree import Node
from engine.schema import Field, Schema


@dataclass(frozen=True, slots=True)
class Scan(Node):
    """The rows of a source table. Event time and watermark are read off the record while it is decoded, so they
    may use columns that are not in `schema`; without an event time it is the moment of reading. Of a change stream
    each row is a version that was added or is taken back."""

    table: str
    columns: Schema
    event_time: Expr | None
    watermark: Expr
    is_changes: bool = False

    @property
    def schema(self) -> Schema:
        """The decoded columns that the plan uses."""
        return self.columns

    @property
    def decoded(self) -> frozenset[str]:
        """The names of all columns that are decoded: those of the schema, and what the times are computed from."""
        times = columns_of(self.watermark) | (frozenset() if self.event_time is None else columns_of(self.event_time))
        return frozenset(self.columns.names) | times - {EVENT_TIME}


def pass_through(fields: Iterable[Field]) -> tuple[Named, ...]:
    """Columns of an input, to be passed on by a `Project`."""
    return tuple(Named(field.name, Column(field.name, field.type, field.nullable)) for field in fields)


@dataclass(frozen=True, slots=True)
class Project(Node):
    """The given expressions of each row, and nothing else."""

    input: Node
    columns: tuple[Named, ...]

    @property
    def schema(self) -> Schema:
        """A column for each expression."""
        return Schema(tuple(Field(named.name, named.expr.type, is_nullable(named.expr)) for named in self.columns))


@dataclass(frozen=True, slots=True)
class Filter(Node):
    """The rows for which `condition` is true; null counts as false."""

    input: Node
    condition: Expr

    @property
    def schema(self) -> Schema:
        """Return the schema of the input."""
        return self.input.schema


@dataclass(frozen=True, slots=True)
class Fused(Node):
    """The rows of a scan for which `condition` is true, with some of its columns, chosen in the task of the source
    before Spark has them; null counts as false. The condition may read columns that are not in `schema`."""

    input: Scan
    condition: Expr
    columns: Schema

    @property
    def schema(self) -> Schema:
        """The columns that Spark has."""
        return self.columns


@dataclass(frozen=True, slots=True)
class Union(Node):
    """The rows of all inputs, which have the same column types; the names are those of the first."""

    inputs: tuple[Node, ...]

    @property
    def schema(self) -> Schema:
        """The first input's names; a column is nullable when it is in any input."""
        columns = zip(*(node.schema.fields for node in self.inputs), strict=True)
        return Schema(
            tuple(Field(same[0].name, same[0].type, any(field.nullable for field in same)) for same in columns)
        )


@dataclass(frozen=True, slots=True)
class Write(Node):
    """All rows of the input go into a sink table; column by column they already have its types."""

    input: Node
    table: str

    @property
    def schema(self) -> Schema:
        """Return the schema of the input, which is that of the sink."""
        return self.input.schema


@dataclass(frozen=True, slots=True)
class Branch(Node):
    """In an epoch part: the rows that a branch of the stream part released in this epoch."""

    index: int
    columns: Schema

    @property
    def schema(self) -> Schema:
        """The columns of the branch."""
        return self.columns
