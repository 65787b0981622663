"""Evaluate the relations of an epoch part over rows in memory, with the results of Spark.
`engine.plan.placement.whole` lists the supported ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.arrow.evaluate import evaluate
from engine.arrow.keys import groups_of, orders_of, pairs_of
from engine.plan.nodes import Branch, Filter, NamedOver, Over, Project, Top, Union, WindowJoin, Write
from engine.plan.tree import EVENT_TIME, Node
from engine.schema import to_arrow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.arrow.keys import Numbers

    Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Relations:
    """Rows of the branches, followed by their event times if needed, and the limit of row pairs of a join."""

    branches: Sequence[pa.RecordBatch]
    most_pairs: int

    def rows_of(self, node: Node) -> pa.RecordBatch:
        """Return the rows of a relation."""
        match node:
            case Branch(index):
                return self.branches[index]
            case Write(source):
                return self.rows_of(source)
            case Project():
                return _projected(node, self.rows_of(node.input))
            case Filter(source, condition):
                rows = self.rows_of(source)
                return rows.filter(pc.fill_null(evaluate(condition, rows), False))
            case Union(inputs):
                return _together(node, [self.rows_of(part) for part in inputs])
            case WindowJoin(left, right):
                return _joined(node, self.rows_of(left), self.rows_of(right), self.most_pairs)
            case Over(source):
                rows = self.rows_of(source)
                return _with_columns(node, rows, [_ranking(function, rows) for function in node.functions])
            case Top(source):
                return _top(node, self.rows_of(source))
        raise TypeError(type(node).__name__)


def _time_of(rows: pa.RecordBatch, node: Node) -> list[pa.Array]:
    """Return the event times that stand behind the columns of a relation, if there are any."""
    is_there = EVENT_TIME in rows.schema.names and EVENT_TIME not in node.schema.names
    return [rows.column(EVENT_TIME)] if is_there else []


def _of(node: Node, columns: Sequence[pa.Array], time: Sequence[pa.Array]) -> pa.RecordBatch:
    names = [*node.schema.names, *([EVENT_TIME] if time else [])]
    return pa.RecordBatch.from_arrays([*columns, *time], names=names)


def _projected(node: Project, rows: pa.RecordBatch) -> pa.RecordBatch:
    columns = [evaluate(named.expr, rows) for named in node.columns]
    return _of(node, columns, _time_of(rows, node.input))


def _together(node: Union, parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    times = [_time_of(part, source) for part, source in zip(parts, node.inputs, strict=True)]
    width = len(node.schema)
    columns = [pa.concat_arrays([part.column(place) for part in parts]) for place in range(width)]
    return _of(node, columns, [pa.concat_arrays([time for [time] in times])] if all(times) else [])


def _joined(node: WindowJoin, left: pa.RecordBatch, right: pa.RecordBatch, most: int) -> pa.RecordBatch:
    """Return the pairs that meet all tests, then rows that have met none, where the join keeps them."""
    windows = (EVENT_TIME, EVENT_TIME) if node.windows is None else node.windows
    keys = (
        [left.column(windows[0]), *(evaluate(pair[0], left) for pair in node.equal)],
        [right.column(windows[1]), *(evaluate(pair[1], right) for pair in node.equal)],
    )
    ours, theirs = pairs_of(*keys, (left.num_rows, right.num_rows), most)
    if node.condition is not None:
        meets = _meets(node, left.take(pa.array(ours)), right.take(pa.array(theirs)))
        ours, theirs = ours[meets], theirs[meets]
    match node.kind:
        case "semi":
            return left.take(pa.array(np.unique(ours)))
        case "anti":
            return left.take(pa.array(_others(ours, left.num_rows)))
    alone = _others(ours, left.num_rows) if node.kind in ("left", "full") else ours[:0]
    alone_there = _others(theirs, right.num_rows) if node.kind in ("right", "full") else theirs[:0]
    sides = (
        _taken(left, [ours, alone], len(alone_there), before=True),
        _taken(right, [theirs, alone_there], len(alone), before=False),
    )
    both = tuple(zip(sides, (node.left, node.right), strict=True))
    times = [_time_of(side, source) for side, source in both]
    columns = [side.column(name) for side, source in both for name in source.schema.names]
    return _of(node, columns, [pc.coalesce(*times[0], *times[1])] if all(times) else [])


def _meets(node: WindowJoin, left: pa.RecordBatch, right: pa.RecordBatch) -> Flags:
    assert node.condition is not None
    sides = ((left, node.left), (right, node.right))
    columns = {name: side.column(name) for side, source in sides for name in source.schema.names}
    pairs = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    meets: Flags = pc.fill_null(evaluate(node.condition, pairs), False).to_numpy(zero_copy_only=False)
    return meets


def _others(places: Numbers, rows: int) -> Numbers:
    """Return the places that are not among these."""
    is_there = np.zeros(rows, bool)
    is_there[places] = True
    return np.flatnonzero(~is_there)


def _taken(side: pa.RecordBatch, places: Sequence[Numbers], missing: int, *, before: bool) -> pa.RecordBatch:
    """Return the rows of a side for the pairs and for what is alone: its own, and NULL for those of the other side,
    which come behind its own on the left and before them on the right."""
    nothing = np.full(missing, -1)
    pairs, alone = places
    wanted = np.concatenate([pairs, alone, nothing] if before else [pairs, nothing, alone])
    return side.take(pa.array(wanted, mask=wanted < 0))


def _ranking(function: NamedOver, rows: pa.RecordBatch) -> pa.Array:
    """Return the place of each row among those of its partition. Without an order all of them are peers."""
    groups = groups_of([evaluate(part, rows) for part in function.partition], rows.num_rows)
    orders = orders_of(function.order, rows)
    ranks = _ranks(function.function, groups, orders)
    return pa.array(ranks, pa.int64()).cast(to_arrow(function.type))


def _ranks(function: str, groups: Numbers, orders: Sequence[Numbers]) -> Numbers:
    places = np.lexsort([*reversed(orders), groups])
    is_first = _changes([groups[places]])
    is_other = _changes([groups[places], *(order[places] for order in orders)])
    numbers: Numbers = np.arange(len(places))
    ranked: Numbers
    start = np.maximum.accumulate(np.where(is_first, numbers, 0))
    match function:
        case "row_number":
            ranked = numbers - start + 1
        case "rank":
            ranked = np.maximum.accumulate(np.where(is_other, numbers, 0)) - start + 1
        case _:
            peers: Numbers = np.cumsum(is_other)
            ranked = peers - peers[start] + 1
    ranks = np.empty(len(places), np.int64)
    ranks[places] = ranked
    return ranks


def _changes(columns: Sequence[Numbers]) -> Flags:
    """Whether a row differs in any of the columns from the one before it; the first one does."""
    changes = np.zeros(len(columns[0]), bool)
    for column in columns:
        changes[1:] |= column[1:] != column[:-1]
    changes[:1] = True
    return changes


def _top(node: Top, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows that are wanted of each window, the windows one after the other."""
    window = rows.column(node.window)
    bounds = [part.cast(pa.int64()).to_numpy(zero_copy_only=False) for part in window.flatten()]
    orders = orders_of(node.order, rows)
    places = np.lexsort([*reversed(orders), *reversed(bounds)])
    if node.limit is not None or node.offset:
        ranks = _ranks("row_number", groups_of([window], rows.num_rows), orders)[places]
        is_wanted = ranks > node.offset
        if node.limit is not None:
            is_wanted &= ranks <= node.offset + node.limit
        places = places[is_wanted]
    return rows.take(pa.array(places))


def _with_columns(node: Over, rows: pa.RecordBatch, computed: Sequence[pa.Array]) -> pa.RecordBatch:
    columns = [rows.column(name) for name in node.input.schema.names]
    return _of(node, [*columns, *computed], _time_of(rows, node.input))
