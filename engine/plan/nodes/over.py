"""Functions of a row among the rows of its window: OVER, and the best rows of each window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine import types
from engine.plan.expressions.expr import Expr, columns_of
from engine.plan.tree import Node
from engine.schema import Field, Schema


@dataclass(frozen=True, slots=True)
class Order:
    """What rows are ordered by, and where NULL goes."""

    expr: Expr
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows around a row that an aggregate sees, as offsets from it; None is without an end. RANGE frames are only
    those up to the peers of the row, with offsets of None and zero."""

    unit: Literal["rows", "range"]
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class NamedOver:
    """A function over the rows that have the same partition values, in an order, and the column it becomes."""

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
    """The input's rows, each with further columns computed among the rows of the same window; `window` is the column
    that holds it. All rows of a window arrive in one epoch."""

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
    """The first `limit` rows of each window in an order, all of them when there is no limit."""

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
    """The names of the columns that one of the functions reads."""
    parts = (*function.arguments, *function.partition, *(order.expr for order in function.order))
    return frozenset[str]().union(*(columns_of(part) for part in parts))
