"""Which columns of its inputs a node reads in order to do its own work, not merely to pass them on."""

from __future__ import annotations

from engine.plan.expressions.expr import Named, columns_of
from engine.plan.nodes import (
    Branch,
    Carried,
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
from engine.plan.nodes.over import columns_read
from engine.plan.tree import Node


def read_by(node: Node) -> frozenset[str]:
    """The names of all columns that a node reads of its inputs."""
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
