"""Suppressed aggregates: aggregates that were added while windows were open are NULL in these windows.

    12:07     sum(price) is added to a tumble of ten minutes with windows from 12:00 and from 12:10
    recorded  operator 0, aggregate 1: windows from 12:00 to 12:10
    12:00     count 5    sum NULL     some rows came before
    12:10     count 4    sum NULL
    12:20     count 2    sum 30       complete

Optionally such windows are suppressed as a whole, by a filter above the windows:

    recorded  operator 0, ROWS: windows from 12:00 to 12:10
    12:20     count 2    sum 30       the first row

This is a property of the state, and not of the script: copies of the state include it, and the running plan has a
projection or filter above the windows.

Re-emit all rows of a changelog aggregate after a filter above it has changed.

    state         a 2, b 2, c 5           before: HAVING n > 1, now: HAVING n > 3; c gets two rows
    first epoch   -a 2  +a 2              retractions as the previous query has emitted them: all pass n > 1
                  -b 2  +b 2
                  -c 5  +c 7
    filtered      -a 2                    inserts pass the new filter: only c 7 passes n > 3
                  -b 2
                  -c 5  +c 7

So a sink has what the new query would have written, whatever it got from the old one. Only the output of the aggregate
is known, so above it there may only be filters and projections, and above these unions, up to the sink.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import count, pairwise
from typing import TypeAlias

from engine import types
from engine.plan.expressions.conditions import all_of, conjuncts_of
from engine.plan.expressions.expr import Call, Case, Column, Expr, Literal, Member, Named, substitute, walk
from engine.plan.nodes import (
    Calendar,
    Cumulate,
    Filter,
    Hop,
    Project,
    Tumble,
    Union,
    UpdatingAggregate,
    WindowAggregate,
)
from engine.plan.nodes import pass_through as pass_through_nodes
from engine.plan.nodes.rows import pass_through
from engine.plan.placement.split import Parts
from engine.plan.state.operators import is_stateful
from engine.plan.tree import Node, inputs_of, with_inputs
from engine.types import BOOLEAN, TIMESTAMP, WINDOW

Range: TypeAlias = tuple[int, int]
"""Starts of the first and the last of some windows, in microseconds."""
Withheld: TypeAlias = Mapping[int, Mapping[int, Sequence[Range]]]
"""By operator number and index of an aggregate, the windows in which it is suppressed."""
ROWS = -1
"""Used instead of an aggregate's index: windows whose rows are suppressed."""
RANGES = 64
"""Largest number of separate ranges. If there are more, near ones are merged, which also suppresses what is between
them."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)


def ranges_of(starts: Sequence[int], step: int) -> tuple[Range, ...]:
    """Return the windows that start at these instants, in order, as ranges; one begins every `step`."""
    gaps = sorted((after - before for before, after in pairwise(starts) if after - before > step), reverse=True)
    least = gaps[RANGES - 1] if len(gaps) >= RANGES else step
    ranges: list[Range] = []
    for start in starts:
        if ranges and start - ranges[-1][1] <= least:
            ranges[-1] = (ranges[-1][0], start)
        else:
            ranges.append((start, start))
    return tuple(ranges)


def step_of(node: WindowAggregate) -> int:
    """Return the distance between the starts of two consecutive windows, in microseconds."""
    match node.window:
        case Tumble(width):
            return width // _TICK
        case Hop(slide):
            return slide // _TICK
        case Cumulate(_, Tumble(width)):
            return width // _TICK
        case Calendar() as window:
            return _longest_slide(window)
        case Cumulate(_, Calendar() as window):
            return _longest_slide(window)
    raise TypeError(type(node.window).__name__)


def _longest_slide(window: Calendar) -> int:
    """Return the longest time between the starts of two consecutive windows; clocks may be set back by a day."""
    return (window.slide.length + timedelta(days=31 * window.slide.months + (window.zone != "UTC"))) // _TICK


def withhold(parts: Parts, withheld: Withheld) -> Parts:
    """Return the plan for a state with suppressed aggregates."""
    if not withheld:
        return parts
    numbers = count()
    return replace(parts, branches=tuple(_withhold(branch, withheld, numbers) for branch in parts.branches))


def _withhold(node: Node, withheld: Withheld, numbers: Iterator[int]) -> Node:
    unknown = withheld.get(next(numbers), {}) if is_stateful(node) else {}
    changed = with_inputs(node, [_withhold(below, withheld, numbers) for below in inputs_of(node)])
    if not unknown:
        return changed
    assert isinstance(changed, WindowAggregate)
    first = len(changed.keys) + 1
    columns = list(pass_through(changed.schema))
    for place, ranges in unknown.items():
        if place != ROWS:
            value = columns[first + place]
            columns[first + place] = Named(value.name, _unless_withheld(value.expr, changed.window_name, ranges))
    held_back = _tests(changed.window_name, unknown.get(ROWS, ()))
    rows = Filter(changed, _call("not", reduce(_either, held_back))) if held_back else changed
    return rows if unknown.keys() == {ROWS} else Project(rows, tuple(columns))


def _unless_withheld(value: Expr, window: str, ranges: Sequence[Range]) -> Expr:
    nothing = Literal(None, value.type)
    return Case(tuple((test, nothing) for test in _tests(window, ranges)), value, value.type)


def _tests(window: str, ranges: Sequence[Range]) -> list[Expr]:
    """Return a test for each range, whether the window starts in it."""
    start = Member(Column(window, WINDOW, nullable=False), "start", TIMESTAMP)
    return [
        _call("and", _call(">=", start, _instant(first)), _call("<=", start, _instant(last))) for first, last in ranges
    ]


def _either(one: Expr, other: Expr) -> Expr:
    return _call("or", one, other)


def _call(function: str, *arguments: Expr) -> Expr:
    return Call(function, arguments, BOOLEAN, nullable=False)


def _instant(micros: int) -> Expr:
    return Literal(_EPOCH + micros * _TICK, TIMESTAMP)


def pieces_of(branch: Node) -> list[Node]:
    """Return the inputs of a branch that is a UNION ALL; else the branch itself."""
    top = branch
    while isinstance(top, Project):
        top = top.input
    return [piece for below in top.inputs for piece in pieces_of(below)] if isinstance(top, Union) else [branch]


def aggregate_of(piece: Node) -> UpdatingAggregate | None:
    """Return the aggregate whose rows a relation only filters and projects; None if it does more."""
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
    """Return a free name for the column that marks retractions of earlier output."""
    name = "_before"
    while name in aggregate.schema.names:
        name += "_"
    return name


def retold(branch: Node) -> Node:
    """Return a branch over re-emitting aggregates: marked rows pass its conditions."""
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
    return _projected(branch, Project(rows, pass_through_nodes(aggregate.schema)))


def _projected(piece: Node, rows: Node) -> Node:
    match piece:
        case Filter(below):
            return _projected(below, rows)
        case Project(below, columns):
            return Project(_projected(below, rows), columns)
    return rows


def over_places(condition: Expr, places: dict[str, int]) -> Expr:
    """Return a condition over columns that are named by position: `c0`, `c1` and so on."""
    columns = {part.name: part for part in walk(condition) if isinstance(part, Column)}
    return substitute(condition, {name: replace(column, name=f"c{places[name]}") for name, column in columns.items()})
