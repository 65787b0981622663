"""What no plan may hold, checked once more after all rewrites."""

from __future__ import annotations

from collections.abc import Sequence

from engine.plan.hidden import EVENT_TIME
from engine.plan.nodes import LookupJoin, Union, UpdatingJoin, WindowJoin, Write
from engine.plan.nodes.joins import sides_read
from engine.plan.placement.reads import read_by
from engine.plan.tree import Node, inputs_of, walk
from engine.schema import Schema


class BrokenPlanError(Exception):
    """A plan that reads a column which is not there; a fault of ours, never of the user's."""


def check(writes: Sequence[Write]) -> None:
    """Raise BrokenPlanError when a node reads what its input does not have."""
    for write in writes:
        for node in walk(write):
            _shape_of(node)
            missing = read_by(node) - _columns_below(node) - {EVENT_TIME}
            if missing:
                raise BrokenPlanError(f"{type(node).__name__} reads {sorted(missing)}, which its input does not have")


def _columns_below(node: Node) -> frozenset[str]:
    return frozenset(name for below in inputs_of(node) for name in below.schema.names)


def _shape_of(node: Node) -> None:
    """Raise if the inputs of a node do not fit each other, beyond the columns that it reads."""
    match node:
        case WindowJoin(left, right) | UpdatingJoin(left, right):
            _must_differ(left.schema, right.schema)
            for number, (side, read) in enumerate(zip((left, right), sides_read(node), strict=True)):
                if read - set(side.schema.names):
                    raise BrokenPlanError(f"side {number} of a join reads {sorted(read)}, which it does not have")
        case LookupJoin(source, _, columns):
            _must_differ(source.schema, columns)
        case Union(inputs):
            if len({tuple(field.type for field in relation.schema) for relation in inputs}) > 1:
                raise BrokenPlanError("the inputs of a Union differ in their types")


def _must_differ(left: Schema, right: Schema) -> None:
    names = [name.lower() for name in (*left.names, *right.names)]
    if len(set(names)) < len(names):
        raise BrokenPlanError(f"both sides of a join have a column of the same name: {sorted(names)}")
