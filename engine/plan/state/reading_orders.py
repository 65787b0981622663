"""In which orders the aggregates of a window are read above it, since Spark keeps them in one of these.

    Project y, x                                   Spark folds the projections into the aggregate, which keeps y, then x
      Project x, y, k                      orders  x, y, z   x, y   y, x
        WindowAggregate x, y, z by k

So a projection above a window is a matter of its state: one that leaves out an aggregate has Spark not keep it, and
one that turns two of them round has Spark keep them so, with the same types. No projection is folded through a filter,
since ours are barred (`spark/lower/rows.py`): above one it only matters which aggregates are read. Whether Spark does
fold a projection, or moves a filter below it first, is not guessed: wherever an order differs, all that stands above
the window counts. So it does where a function above it is computed in Python: Spark takes the call out of what it has
folded, and the aggregates that it reads then come elsewhere than they stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from engine.functions import FUNCTIONS
from engine.plan.expressions.expr import Call, Column, Expr, walk
from engine.plan.nodes import Filter, Project, Union, WindowAggregate
from engine.plan.tree import Node

Path = Sequence[tuple[Node, Node]]
"""The relations above another one, the lowest first, each with the one of its inputs that leads there."""
_Read = Mapping[str, tuple[int, ...]]
"""Which aggregates are in each column, by their places in the window."""


Step = tuple[str, tuple[int, ...]]
"""A relation above a window, and the places of the aggregates in the order in which it has them."""


def reading_steps(node: WindowAggregate, path: Path) -> Sequence[Step]:
    """Return the order in which the aggregates of a window are read, up to the end of its branch or the next stateful
    operator. Return nothing if every relation has them in the window's own order, since Spark then keeps that order."""
    columns: _Read = {named.name: (place,) for place, named in enumerate(node.aggregates)}
    order = tuple(range(len(node.aggregates)))
    steps: list[Step] = []
    is_computed = False
    tested: set[int] | None = None
    for parent, child in path:
        columns_below, exprs = columns, list[Expr]()
        match parent:
            case Filter(condition=condition):
                exprs = [condition]
                tested = {*(tested or ()), *_read(condition, columns)}
            case Project():
                exprs = [named.expr for named in parent.columns]
                columns = {named.name: tuple(_read(named.expr, columns)) for named in parent.columns}
                read = tuple(dict.fromkeys(place for places in columns.values() for place in places))
                order = read if tested is None else tuple(place for place in order if place in {*read, *tested})
            case Union():
                names = zip(parent.schema.names, child.schema.names, strict=True)
                columns = {name: columns.get(below, ()) for name, below in names}
        if len(node.aggregates) > 1 and (computed := tuple(_read_in_python(exprs, columns_below))):
            is_computed = True
            steps.append(("computed", computed))
        steps.append((type(parent).__name__, order))
    is_other = any(len(order) < len(node.aggregates) or order != tuple(sorted(order)) for _, order in steps)
    return steps if is_computed or is_other else ()


def _read(expr: Expr, columns: _Read) -> Iterator[int]:
    for part in walk(expr):
        if isinstance(part, Column):
            yield from columns.get(part.name, ())


def _read_in_python(exprs: Iterable[Expr], columns: _Read) -> Iterator[int]:
    """The aggregates that functions read which Spark does not compute itself: the user's, and those of ours that are
    computed over Arrow."""
    for expr in exprs:
        for part in walk(expr):
            if isinstance(part, Call) and (part.function not in FUNCTIONS or FUNCTIONS[part.function].is_computed):
                yield from _read(part, columns)
