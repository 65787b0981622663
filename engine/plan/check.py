"""What no plan may hold, checked once more after all rewrites."""

from __future__ import annotations

from collections.abc import Sequence

from engine.plan.expr import columns_of
from engine.plan.nodes import (
    Filter,
    LookupJoin,
    Over,
    Project,
    Top,
    Union,
    Unnest,
    UpdatingAggregate,
    UpdatingJoin,
    WindowAggregate,
    WindowJoin,
    Write,
)
from engine.plan.nodes.joins import sides_read
from engine.plan.nodes.over import columns_read
from engine.plan.tree import EVENT_TIME, Node, inputs_of, walk
from engine.schema import Schema


class BrokenPlanError(Exception):
    """A plan that reads a column which is not there; a fault of ours, never of the user's."""


def check(writes: Sequence[Write]) -> None:
    """Raise BrokenPlanError when a node reads what its input does not have."""
    for write in writes:
        for node in walk(write):
            missing = read_by(node) - _offered_to(node) - {EVENT_TIME}
            if missing:
                raise BrokenPlanError(f"{type(node).__name__} reads {sorted(missing)}, which its input does not have")


def _offered_to(node: Node) -> frozenset[str]:
    return frozenset(name for below in inputs_of(node) for name in below.schema.names)


def read_by(node: Node) -> frozenset[str]:
    """The names of all columns that a node reads of its inputs in order to do its own work."""
    match node:
        case Project(_, columns):
            return frozenset[str]().union(*(columns_of(item.expr) for item in columns))
        case Filter(_, condition):
            return columns_of(condition)
        case Unnest(_, _, array):
            return columns_of(array)
        case WindowAggregate(_, _, _, keys, aggregates) | UpdatingAggregate(_, keys, aggregates):
            parts = [key.expr for key in keys]
            parts += [part for one in aggregates for part in one.aggregate.expressions]
            return frozenset[str]().union(*(columns_of(part) for part in parts))
        case WindowJoin(left, right) | UpdatingJoin(left, right):
            _must_differ(left.schema, right.schema)
            for number, (side, read) in enumerate(zip((left, right), sides_read(node), strict=True)):
                if read - set(side.schema.names):
                    raise BrokenPlanError(f"side {number} of a join reads {sorted(read)}, which it does not have")
            return frozenset() if node.condition is None else columns_of(node.condition)
        case Over(_, window, functions):
            return frozenset[str]({window}).union(*(columns_read(one) for one in functions))
        case Top(_, window, order):
            return frozenset[str]({window}).union(*(columns_of(one.expr) for one in order))
        case LookupJoin(source, _, columns, _, key):
            _must_differ(source.schema, columns)
            return columns_of(key)
        case Union(inputs):
            if len({tuple(field.type for field in one.schema) for one in inputs}) > 1:
                raise BrokenPlanError("the inputs of a Union differ in their types")
    return frozenset()


def _must_differ(left: Schema, right: Schema) -> None:
    names = [name.lower() for name in (*left.names, *right.names)]
    if len(set(names)) < len(names):
        raise BrokenPlanError(f"both sides of a join have a column of the same name: {sorted(names)}")
