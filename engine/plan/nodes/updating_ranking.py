"""The place of rows among others, where no window says when all of them are there."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, TypeAlias

from engine import types
from engine.plan.expressions.expr import Expr
from engine.plan.nodes.over import Order
from engine.plan.state.former_types import Formers
from engine.plan.tree import Node
from engine.schema import Field, Schema

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
