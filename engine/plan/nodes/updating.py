"""Relations whose rows are taken back and replaced: streams of changes.

A relation that `is_updating` carries two hidden columns, `_retract` and `_id` (`plan/tree.py`). Folding its changes
in order gives, at any epoch, the batch answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, TypeAlias

from engine import types
from engine.plan.expressions.expr import Expr, Named, is_nullable
from engine.plan.nodes.joins import UpdatingJoin
from engine.plan.nodes.rows import Order, Scan
from engine.plan.nodes.windowed import NamedAggregate
from engine.plan.state.width_marks import Formers
from engine.plan.tree import Node, inputs_of
from engine.schema import Field, Schema


@dataclass(frozen=True, slots=True)
class Retelling:
    """A query is told once of every row of an aggregate: each is taken back as the query before has let it out, if it
    `passed` that one's conditions (SQL of Spark's over `c0`, `c1`, ...), and is given out as this one has it. Buckets
    know by the `id` whether they have done so; all of them are asked in this `epoch`."""

    id: str
    passed: str
    epoch: int


@dataclass(frozen=True, slots=True)
class UpdatingAggregate(Node):
    """One row per key, replaced at the end of every epoch that changed it, and taken back when the last row of the key
    goes. Without keys there is one row from the first input row on. Without aggregates it is a DISTINCT of the keys.
    A key is forgotten `ttl` after its last change. One that was changed while it ran is told what its state `began_as`,
    by its `form` what it is to be, what each aggregate was `formerly`, over narrower numbers, and the `formers` of what
    it hashes (`plan/hashed.py`). One whose conditions were changed has a `retelling`, and rows that it takes back by
    that are marked (`plan/retelling.py`). `pin` is as in `WindowAggregate`."""

    input: Node
    keys: tuple[Named, ...]
    aggregates: tuple[NamedAggregate, ...]
    ttl: timedelta
    began_as: tuple[str, ...] | None = None
    form: tuple[str, ...] = ()
    pin: str | None = field(default=None, compare=False)
    formerly: tuple[tuple[str, ...], ...] = ()
    formers: Formers = ()
    retelling: Retelling | None = None

    @property
    def schema(self) -> Schema:
        """Keys, aggregates."""
        return Schema(
            (
                *(Field(key.name, key.expr.type, is_nullable(key.expr)) for key in self.keys),
                *(Field(named.name, named.aggregate.type, named.aggregate.nullable) for named in self.aggregates),
            )
        )


def is_updating(node: Node) -> bool:
    """Whether the rows of a relation can be taken back."""
    match node:
        case UpdatingAggregate() | UpdatingTop():
            return True
        case UpdatingJoin(left, right, kind):
            return kind not in ("inner", "semi") or is_updating(left) or is_updating(right)
        case Scan(is_changes=is_changes):
            return is_changes
    return any(is_updating(below) for below in inputs_of(node))


Ranking: TypeAlias = Literal["row_number", "rank", "dense_rank"]


@dataclass(frozen=True, slots=True)
class UpdatingTop(Node):
    """The rows of each partition and their place in an order, as it is after every epoch: rows are taken back when
    others move them. Only places up to `limit` are given, all when there is none. `number` is the column of the place,
    None when nobody reads it. Rows that are equal in the order have one among themselves all the same, by what they
    hold. A partition is forgotten `ttl` after its last change. `pin` is as in `WindowAggregate`, `formers` as in
    `UpdatingAggregate`."""

    input: Node
    function: Ranking
    partition: tuple[Expr, ...]
    order: tuple[Order, ...]
    number: str | None
    limit: int | None
    ttl: timedelta
    pin: str | None = field(default=None, compare=False)
    formers: Formers = ()

    @property
    def schema(self) -> Schema:
        """The columns of the input, then the place."""
        place = () if self.number is None else (Field(self.number, types.BIGINT, nullable=False),)
        return Schema((*self.input.schema, *place))
