"""Rows of an updating aggregate that another condition lets out: those it has not are taken back, those it has come.

    kept          a 2, b 2, c 5           before: HAVING n > 1, now: HAVING n > 3, c comes twice
    the first     -a 2  +a 2              taken back as the query before let them out: all pass n > 1
    epoch         -b 2  +b 2
                  -c 5  +c 7
    conditions    -a 2                    given out as this query does: only c 7 passes n > 3
                  -b 2
                  -c 5  +c 7

So a sink has what the new query would have written, whatever it has had of the old one. Only what the aggregate gives
out is known, so above it there may be conditions and projections, and above these unions, up to the sink.
"""

from __future__ import annotations

from dataclasses import replace

from engine import types
from engine.plan.expressions.conjuncts import all_of, conjuncts_of
from engine.plan.expressions.expr import Call, Column, Expr, substitute, walk
from engine.plan.nodes import Filter, Project, Union, UpdatingAggregate, pass_through
from engine.plan.tree import Node, inputs_of, with_inputs


def pieces_of(branch: Node) -> list[Node]:
    """The relations that a branch has the rows of, by UNION ALL, if it does; itself otherwise."""
    top = branch
    while isinstance(top, Project):
        top = top.input
    return [piece for below in top.inputs for piece in pieces_of(below)] if isinstance(top, Union) else [branch]


def aggregate_of(piece: Node) -> UpdatingAggregate | None:
    """The aggregate whose rows a relation only filters and projects; None where it does more."""
    node = piece
    while isinstance(node, Filter | Project):
        node = node.input
    return node if isinstance(node, UpdatingAggregate) else None


def condition_of(piece: Node) -> Expr | None:
    """Return the condition that a relation places on rows of its aggregate, in the aggregate's columns; None for no
    condition."""
    tests: list[Expr] = []
    node = piece
    while isinstance(node, Filter | Project):
        if isinstance(node, Filter):
            tests[:0] = conjuncts_of(node.condition)
        else:
            values = {named.name: named.expr for named in node.columns}
            tests = [substitute(test, values) for test in tests]
        node = node.input
    return all_of(tests)


def mark_of(aggregate: UpdatingAggregate) -> str:
    """Return a free name for the column that marks retractions of rows as they were emitted before."""
    name = "_before"
    while name in aggregate.schema.names:
        name += "_"
    return name


def retold(branch: Node) -> Node:
    """A branch as it runs over aggregates with a retelling: what is marked passes its conditions."""
    pieces = pieces_of(branch)
    if pieces != [branch]:
        return with_inputs(branch, [retold(below) for below in inputs_of(branch)])
    aggregate = aggregate_of(branch)
    if aggregate is None or aggregate.retelling is None:
        return branch
    rows: Node = aggregate
    if (condition := condition_of(branch)) is not None:
        mark = Column(mark_of(aggregate), types.BOOLEAN, nullable=False)
        rows = Filter(aggregate, Call("or", (mark, condition), types.BOOLEAN))
    return _projected(branch, Project(rows, pass_through(aggregate.schema)))


def _projected(piece: Node, rows: Node) -> Node:
    match piece:
        case Filter(below):
            return _projected(below, rows)
        case Project(below, columns):
            return Project(_projected(below, rows), columns)
    return rows


def over_places(condition: Expr, places: dict[str, int]) -> Expr:
    """A condition over columns that are called after their places: `c0`, `c1` and so on."""
    columns = {part.name: part for part in walk(condition) if isinstance(part, Column)}
    return substitute(condition, {name: replace(column, name=f"c{places[name]}") for name, column in columns.items()})
