"""Windows whose state is kept by pane: the longest stretch of time of which all rows are in the same windows.

    hop(2 s, 10 s), count(*) by auction      by window and auction        each row in five of them
                                             by pane of 2 s and auction   each row in one; windows are made of their
                                                                          panes when they close

It is a matter of the state, as what windows withhold is (`plan/withheld.py`), and chosen when a state begins. Only what
can be added up exactly is kept so. See docs/decisions/windows-can-be-kept-by-pane.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import count

from engine import types
from engine.plan.nodes import Aggregate, ByPane, Hop, Window, WindowAggregate
from engine.plan.placement.split import Parts
from engine.plan.state.operators import Operator, is_stateful
from engine.plan.tree import Node, inputs_of, walk, with_inputs
from engine.types import Type

LEAST_WINDOWS, MOST_WINDOWS = 3, 1_000
"""In how many windows a row must be, and may be. In one, the state is not smaller by pane, and a count by key needs a
third more CPU; in five it needs a fifth less. When windows close, each pane is written into as many rows."""
_ORDERED = types.Boolean | types.Integer | types.Text | types.Timestamp | types.Date
"""Types whose least and greatest value is the same in Arrow and in Spark."""


def fit_for_panes(operators: Sequence[Operator]) -> frozenset[int]:
    """The numbers of the operators whose state can be kept by pane: above and below them nothing else keeps state."""
    read = {number for operator in operators for number in operator.below}
    return frozenset(
        operator.number
        for operator in operators
        if operator.number not in read and not operator.below and is_fit(operator)
    )


def is_fit(operator: Operator) -> bool:
    """Whether windows with such keys and aggregates can be kept by pane."""
    node = operator.node
    if not isinstance(node, WindowAggregate) or not _is_fit_window(node.window):
        return False
    has_fit_keys = all(_is_fit_key(key.expr.type) for key in node.keys)
    return has_fit_keys and all(_is_summed_exactly(named.aggregate) for named in node.aggregates)


def with_panes(parts: Parts, numbers: Collection[int], operators: Sequence[Operator]) -> Parts:
    """The plan, whose operators these are, as it runs where the state of some of them is kept by pane."""
    if not numbers:
        return parts
    counted = count()
    return replace(parts, branches=tuple(_marked(branch, numbers, operators, counted) for branch in parts.branches))


def as_it_begins(parts: Parts, operators: Sequence[Operator]) -> Parts:
    """The plan, whose operators these are, as it runs where all of them begin with nothing and may be kept by pane."""
    return with_panes(parts, fit_for_panes(operators), operators)


def panes_in(parts: Parts) -> Collection[int]:
    """The numbers of the operators of a plan whose state is kept by pane."""
    nodes = (node for branch in parts.branches for node in walk(branch) if is_stateful(node))
    return {
        number for number, node in enumerate(nodes) if isinstance(node, WindowAggregate) and node.by_pane is not None
    }


def _marked(node: Node, numbers: Collection[int], operators: Sequence[Operator], counted: Iterator[int]) -> Node:
    number = next(counted) if is_stateful(node) else None
    changed = with_inputs(node, [_marked(below, numbers, operators, counted) for below in inputs_of(node)])
    if number is None or number not in numbers:
        return changed
    assert isinstance(changed, WindowAggregate)
    first = len(changed.keys)
    texts = [part.meaning for part in operators[number].columns[first : first + len(changed.aggregates)]]
    return replace(changed, by_pane=ByPane(tuple(texts)))


def _is_fit_window(window: Window) -> bool:
    return isinstance(window, Hop) and LEAST_WINDOWS <= window.width // window.slide < MOST_WINDOWS


def _is_fit_key(kind: Type) -> bool:
    """Whether equal values of the type are the same bits: of DOUBLE NaN and -0.0 are not."""
    match kind:
        case types.Integer(_, signed):
            return signed
        case types.Boolean() | types.Text() | types.Timestamp() | types.Date():
            return True
    return False


def _is_summed_exactly(aggregate: Aggregate) -> bool:
    if aggregate.distinct or aggregate.order or aggregate.condition is not None:
        return False
    kinds = [argument.type for argument in aggregate.arguments]
    match aggregate.function, kinds:
        case "count", _:
            return True
        case "sum", [types.Integer(_, signed)]:
            return signed and isinstance(aggregate.type, types.Integer)
        case "min" | "max", [kind]:
            return isinstance(kind, _ORDERED)
    return False
