"""In which orders the aggregates of a window are read above it, since Spark keeps them in one of these.

    Project y, x                                   Spark folds the projections into the aggregate, which keeps y, then x
      Project x, y, k                      orders  x, y, z   x, y   y, x
        WindowAggregate x, y, z by k

So a projection above a window is a matter of its state: one that leaves out an aggregate has Spark not keep it, and
one that turns two of them round has Spark keep them so, with the same types. No projection is folded through a filter,
since ours are barred (`spark/lower/rows.py`): above one it only matters which aggregates are read. Whether Spark does
fold a projection is not guessed: all orders count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from engine.plan.expr import Column, Expr, walk
from engine.plan.nodes import Filter, Project, Union, WindowAggregate
from engine.plan.tree import Node

Path = Sequence[tuple[Node, Node]]
"""The relations above another one, the lowest first, each with the one of its inputs that leads there."""
_Read = Mapping[str, tuple[int, ...]]
"""Which aggregates are in each column, by their places in the window."""


def reading_orders(node: WindowAggregate, path: Path) -> list[tuple[int, ...]]:
    """The places of the aggregates in the order in which each projection reads them, beginning with their own; one that
    reads them like the one below it is not told."""
    columns: _Read = {named.name: (place,) for place, named in enumerate(node.aggregates)}
    orders = [tuple(range(len(node.aggregates)))]
    tested: set[int] | None = None
    for parent, child in path:
        match parent:
            case Filter(condition=condition):
                tested = {*(tested or ()), *_read(condition, columns)}
            case Project():
                columns = {named.name: tuple(_read(named.expr, columns)) for named in parent.columns}
                order = tuple(dict.fromkeys(place for places in columns.values() for place in places))
                if tested is not None:
                    order = tuple(place for place in orders[-1] if place in {*order, *tested})
                orders += [order] if order != orders[-1] else []
            case Union():
                names = zip(parent.schema.names, child.schema.names, strict=True)
                columns = {name: columns.get(below, ()) for name, below in names}
    return orders


def _read(expr: Expr, columns: _Read) -> Iterator[int]:
    for part in walk(expr):
        if isinstance(part, Column):
            yield from columns.get(part.name, ())
