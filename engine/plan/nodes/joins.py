"""Relations with two inputs. Column names of the inputs must differ: the builder of a join renames them first."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, TypeAlias

from engine.plan.expressions.expr import Expr, columns_of
from engine.plan.state.width_marks import Formers
from engine.plan.tree import Node
from engine.schema import Field, Schema

JoinKind: TypeAlias = Literal["inner", "left", "right", "full", "semi", "anti"]
"""Semi and anti joins return the rows of the left side with, or without, a match on the right side, each once and
unchanged."""
Pair: TypeAlias = tuple[Expr, Expr]
"""An equality: an expression of the left side, and one of the right side of the same type."""


@dataclass(frozen=True, slots=True)
class WindowJoin(Node):
    """Pairs of rows of the same window for which all equalities and the condition are true. Both sides have the same
    window, so all matches arrive in one epoch. The columns in `windows` must be equal; without them, the event times.
    """

    left: Node
    right: Node
    kind: JoinKind
    windows: tuple[str, str] | None
    equal: tuple[Pair, ...]
    condition: Expr | None

    @property
    def schema(self) -> Schema:
        """The columns of the left, then of the right unless it is only tested; nullable where a side may be missing."""
        return joined_schema(self.left.schema, self.right.schema, self.kind)


@dataclass(frozen=True, slots=True)
class UpdatingJoin(Node):
    """Pairs of rows for which all equalities and the condition are true, whenever they arrive. Both sides are stored
    for `ttl` after their last change. Its output is changelog rows, unless it is an inner or semi join of append-only
    sides. `pin` is as in `WindowAggregate`, `formers` as in `UpdatingAggregate`."""

    left: Node
    right: Node
    kind: JoinKind
    equal: tuple[Pair, ...]
    condition: Expr | None
    ttl: timedelta
    pin: str | None = field(default=None, compare=False)
    formers: Formers = ()

    @property
    def schema(self) -> Schema:
        """The columns of the left, then of the right unless it is only tested; nullable where a side may be missing."""
        return joined_schema(self.left.schema, self.right.schema, self.kind)


@dataclass(frozen=True, slots=True)
class LookupJoin(Node):
    """Each row of the input with the row of a lookup table whose primary key is `key`. Without a match, or for a NULL
    key, the row is dropped, or in a left join the table's columns are NULL."""

    input: Node
    table: str
    columns: Schema
    kind: Literal["inner", "left"]
    key: Expr

    @property
    def schema(self) -> Schema:
        """The columns of the input, then of the table."""
        looked_up = self.columns if self.kind == "inner" else _nullable(self.columns)
        return Schema((*self.input.schema, *looked_up))


def joined_schema(left: Schema, right: Schema, kind: JoinKind) -> Schema:
    """Return the columns of both sides; those of a side that may be missing are nullable, those of a mere test are left
    out."""
    if kind in ("semi", "anti"):
        return left
    first = _nullable(left) if kind in ("right", "full") else left
    second = _nullable(right) if kind in ("left", "full") else right
    return Schema((*first, *second))


def _nullable(schema: Schema) -> Schema:
    return Schema(tuple(Field(field.name, field.type, nullable=True) for field in schema))


def sides_read(join: WindowJoin | UpdatingJoin) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of the columns that a join reads of its left and of its right side in order to match rows."""
    names: tuple[set[str], set[str]] = set(), set()
    for number, below in enumerate((join.left, join.right)):
        for pair in join.equal:
            names[number].update(columns_of(pair[number]))
        if join.condition is not None:
            names[number].update(columns_of(join.condition) & set(below.schema.names))
        if isinstance(join, WindowJoin) and join.windows is not None:
            names[number].add(join.windows[number])
    return frozenset(names[0]), frozenset(names[1])
