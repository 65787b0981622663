"""Columns that a node reads to do its own work, and the check that they exist."""

from __future__ import annotations

from collections.abc import Sequence

from engine.plan.expressions.expr import Named, columns_of
from engine.plan.nodes import (
    Branch,
    Carried,
    EventTimeOver,
    Filter,
    Fused,
    LateRows,
    LookupJoin,
    NamedAggregate,
    Over,
    Partials,
    Project,
    Scan,
    Top,
    Union,
    Unnest,
    UpdatingAggregate,
    UpdatingJoin,
    UpdatingTop,
    WindowAggregate,
    WindowJoin,
    Write,
)
from engine.plan.nodes.joins import sides_read
from engine.plan.nodes.rows import columns_read
from engine.plan.tree import EVENT_TIME, Node, inputs_of, walk
from engine.schema import Schema


class BrokenPlanError(Exception):
    """A plan reads a column that does not exist: a bug of ours, not an error of the user."""


def check(writes: Sequence[Write]) -> None:
    """Raise BrokenPlanError if a node reads what its input does not have."""
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


def read_by(node: Node) -> frozenset[str]:
    """Return the names of all columns that a node reads of its inputs."""
    nothing = frozenset[str]()
    match node:
        case Project(_, columns):
            return nothing.union(*(columns_of(named.expr) for named in columns))
        case Filter(_, condition):
            return columns_of(condition)
        case Unnest(_, _, array):
            return columns_of(array)
        case WindowAggregate(_, window, _, keys, aggregates):
            carried = {window.column} if isinstance(window, Carried) else nothing
            return nothing.union(carried, *_of_groups(keys, aggregates))
        case UpdatingAggregate(_, keys, aggregates):
            return nothing.union(*_of_groups(keys, aggregates))
        case WindowJoin() | UpdatingJoin():
            whole = nothing if node.condition is None else columns_of(node.condition)
            return whole.union(*sides_read(node))
        case Over(_, window, functions):
            return nothing.union({window}, *(columns_read(function) for function in functions))
        case Top(_, window, order):
            return nothing.union({window}, *(columns_of(key.expr) for key in order))
        case EventTimeOver(_, partition, order, functions):
            by = nothing.union(*map(columns_of, partition), *(columns_of(key.expr) for key in order))
            return by.union(*(columns_read(function) for function in functions))
        case UpdatingTop(_, _, partition, order):
            return nothing.union(*map(columns_of, partition), *(columns_of(key.expr) for key in order))
        case LookupJoin(key=key):
            return columns_of(key)
        case Scan() | Branch() | Union() | Write() | LateRows() | Fused() | Partials():
            return nothing
    raise TypeError(type(node).__name__)


def _of_groups(keys: tuple[Named, ...], aggregates: tuple[NamedAggregate, ...]) -> list[frozenset[str]]:
    parts = [*(key.expr for key in keys), *(part for named in aggregates for part in named.aggregate.expressions)]
    return [columns_of(part) for part in parts]
