"""What no plan may hold, checked once more after all rewrites."""

from __future__ import annotations

from collections.abc import Sequence

from engine.plan.expr import columns_of
from engine.plan.nodes import Filter, Project, Union, WindowAggregate, Write
from engine.plan.tree import EVENT_TIME, Node, inputs_of, walk


class BrokenPlanError(Exception):
    """A plan that reads a column which is not there; a fault of ours, never of the user's."""


def check(writes: Sequence[Write]) -> None:
    """Raise BrokenPlanError when a node reads what its input does not have."""
    for write in writes:
        for node in walk(write):
            missing = _read_by(node) - _offered_to(node) - {EVENT_TIME}
            if missing:
                raise BrokenPlanError(f"{type(node).__name__} reads {sorted(missing)}, which its input does not have")


def _offered_to(node: Node) -> frozenset[str]:
    return frozenset(name for below in inputs_of(node) for name in below.schema.names)


def _read_by(node: Node) -> frozenset[str]:
    match node:
        case Project(_, columns):
            return frozenset[str]().union(*(columns_of(item.expr) for item in columns))
        case Filter(_, condition):
            return columns_of(condition)
        case WindowAggregate(_, _, _, keys, aggregates):
            parts = [key.expr for key in keys]
            parts += [argument for one in aggregates for argument in one.aggregate.arguments]
            parts += [one.aggregate.condition for one in aggregates if one.aggregate.condition is not None]
            return frozenset[str]().union(*(columns_of(part) for part in parts))
        case Union(inputs):
            if len({tuple(field.type for field in one.schema) for one in inputs}) > 1:
                raise BrokenPlanError("the inputs of a Union differ in their types")
    return frozenset()
