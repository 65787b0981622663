"""Relations with changelog rows, inserts and retractions, and others whose state is ours.

A relation that `is_updating` has two hidden columns, `_retract` and `_id` (`plan/tree.py`). At any epoch, folding its
rows in order gives the batch result.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, TypeAlias

from engine import types
from engine.plan.expressions.expr import Expr, Named, is_nullable
from engine.plan.nodes.joins import UpdatingJoin
from engine.plan.nodes.rows import NamedOver, Order, Scan
from engine.plan.nodes.windowed import NamedAggregate
from engine.plan.state.width_marks import Formers
from engine.plan.tree import Node, inputs_of
from engine.schema import Field, Schema


@dataclass(frozen=True, slots=True)
class Retelling:
    """Re-emission of all rows of an aggregate: each is retracted if it `passed` the previous query's filters (Spark SQL
    over `c0`, `c1`, ...), and inserted again. Shards record the `id` once they have done so; all shards are processed
    in this `epoch`."""

    id: str
    passed: str
    epoch: int


@dataclass(frozen=True, slots=True)
class UpdatingAggregate(Node):
    """One row per key, replaced at the end of every epoch that changed it, and retracted with the last row of the key.
    Without keys there is one row from the first input row on. Without aggregates it is a DISTINCT of the keys. A key
    expires `ttl` after its last change. After an upgrade, it has the form of its state (`began_as`), its own `form`,
    the texts of aggregates with narrower numbers (`formerly`), and the former types of hashed values (`formers`, see
    `plan/state/forms.py`). After a change of a filter above it, it has a `retelling`, and marks the retractions of
    that (`plan/state/withheld.py`). `pin` is as in `WindowAggregate`."""

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
    """Whether the rows of a relation can be retracted."""
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
    """Rows of each partition with their rank, as of the end of every epoch: rows are retracted when others change their
    rank. Only ranks up to `limit` are emitted, all without one. `number` is the column of the rank, None if it is
    unused. Ties are broken by content. A partition expires `ttl` after its last change. `pin` is as in
    `WindowAggregate`, `formers` as in `UpdatingAggregate`."""

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


@dataclass(frozen=True, slots=True)
class EventTimeOver(Node):
    """The input's rows with additional columns, each once, when the watermark has passed its event time: computed over
    the earlier rows of its partition, by event time and then in `order`. Ties are broken by content. The functions have
    no partition and order of their own. Rows that arrive later are late. A partition starts again with
    a row that is more than `ttl` later than the one before. `pin` is as in `WindowAggregate`."""

    input: Node
    partition: tuple[Expr, ...]
    order: tuple[Order, ...]
    functions: tuple[NamedOver, ...]
    ttl: timedelta
    pin: str | None = field(default=None, compare=False)

    @property
    def schema(self) -> Schema:
        """The columns of the input, then the new ones."""
        new = (Field(function.name, function.type, function.nullable) for function in self.functions)
        return Schema((*self.input.schema, *new))

    @property
    def partition_ends_after(self) -> timedelta:
        """Return how long after its last row a partition starts again: `ttl`, or the longest frame."""
        frames = [function.frame for function in self.functions if function.frame and function.frame.unit == "range"]
        longest = max((max(-(frame.start or 0), frame.end or 0) for frame in frames), default=0)
        return max(self.ttl, timedelta(microseconds=max(longest, 1)))
