"""Relations that process one row at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from engine import types
from engine.plan.expressions.expr import Column, Expr, Named, columns_of, is_nullable
from engine.plan.tree import EVENT_TIME, Node
from engine.schema import Field, Schema


@dataclass(frozen=True, slots=True)
class Scan(Node):
    """Rows of a source table. Event time and watermark are computed from the record while it is decoded, so they may
    use columns that are not in `schema`; without an event time it is the time of reading. For a changelog source each
    row is an insert or a retraction."""

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
    """Return columns of an input, to be passed on by a `Project`."""
    return tuple(Named(field.name, Column(field.name, field.type, field.nullable)) for field in fields)


@dataclass(frozen=True, slots=True)
class Project(Node):
    """The given expressions of each row."""

    input: Node
    columns: tuple[Named, ...]

    @property
    def schema(self) -> Schema:
        """A column for each expression."""
        return Schema(tuple(Field(named.name, named.expr.type, is_nullable(named.expr)) for named in self.columns))


@dataclass(frozen=True, slots=True)
class Filter(Node):
    """Rows for which `condition` is true; NULL counts as false."""

    input: Node
    condition: Expr

    @property
    def schema(self) -> Schema:
        """Return the schema of the input."""
        return self.input.schema


@dataclass(frozen=True, slots=True)
class Fused(Node):
    """Rows of a scan for which `condition` is true, with some of its columns, filtered in the source task; NULL counts
    as false. The condition may use columns that are not in `schema`."""

    input: Scan
    condition: Expr
    columns: Schema

    @property
    def schema(self) -> Schema:
        """The columns that Spark has."""
        return self.columns


@dataclass(frozen=True, slots=True)
class Union(Node):
    """Rows of all inputs, which have the same column types; names are those of the first."""

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
    """Writes all rows of the input into a sink table; the column types are equal."""

    input: Node
    table: str

    @property
    def schema(self) -> Schema:
        """Return the schema of the input, which is that of the sink."""
        return self.input.schema


@dataclass(frozen=True, slots=True)
class Branch(Node):
    """In an epoch part: the rows that a branch of the stream part has emitted in this epoch."""

    index: int
    columns: Schema

    @property
    def schema(self) -> Schema:
        """The columns of the branch."""
        return self.columns


@dataclass(frozen=True, slots=True)
class Order:
    """Sort key with the position of NULL."""

    expr: Expr
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Frame:
    """Rows around a row that an aggregate includes, as offsets; None is unbounded. Within windows, RANGE frames only go
    up to the peers of the row, with offsets None and zero; by event time their offsets are microseconds."""

    unit: Literal["rows", "range"]
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class NamedOver:
    """A function over rows with equal partition values, in an order, and the name of its column."""

    name: str
    function: str
    arguments: tuple[Expr, ...]
    partition: tuple[Expr, ...]
    order: tuple[Order, ...]
    frame: Frame | None
    type: types.Type
    nullable: bool = True
    ignore_nulls: bool = False


@dataclass(frozen=True, slots=True)
class Over(Node):
    """The input's rows with additional columns, computed among the rows of the same window; `window` is its column. All
    rows of a window arrive in one epoch."""

    input: Node
    window: str
    functions: tuple[NamedOver, ...]

    @property
    def schema(self) -> Schema:
        """The columns of the input, then the new ones."""
        return Schema(
            (
                *self.input.schema,
                *(Field(function.name, function.type, function.nullable) for function in self.functions),
            )
        )


@dataclass(frozen=True, slots=True)
class Top(Node):
    """The first `limit` rows of each window in an order; all rows without a limit."""

    input: Node
    window: str
    order: tuple[Order, ...]
    limit: int | None
    offset: int = 0

    @property
    def schema(self) -> Schema:
        """Return the schema of the input."""
        return self.input.schema


def columns_read(function: NamedOver) -> frozenset[str]:
    """Return the names of the columns that one of the functions reads."""
    parts = (*function.arguments, *function.partition, *(order.expr for order in function.order))
    return frozenset[str]().union(*(columns_of(part) for part in parts))
