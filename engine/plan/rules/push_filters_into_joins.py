"""Push filters on one side of a join below the join, so that less is stored and matched.

    Filter a.x > 1 AND b.y > 2               Filter b.y > 2
      left join a, b ON a.k = b.k      ->      left join a, b ON a.k = b.k
                                                 Filter a.x > 1

`b.y > 2` stays above: below the join, a row of `a` would be output with NULLs instead of being dropped. Only conditions
that cannot fail are moved: others might see rows that the join would have dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.plan.expressions.conditions import all_of, cannot_fail, conjuncts_of, with_filter
from engine.plan.expressions.expr import Call, Expr, columns_of
from engine.plan.nodes import Filter, JoinKind, LookupJoin, UpdatingJoin, WindowJoin, Write
from engine.plan.tree import Node, inputs_of, with_inputs

_ABOVE: dict[JoinKind, tuple[bool, bool]] = {
    "inner": (True, True),
    "left": (True, False),
    "right": (False, True),
    "full": (False, False),
    "semi": (True, False),
    "anti": (True, False),
}
"""Whether a condition above the join may move to the left and to the right side, whose rows must never be missing."""
_WITHIN: dict[JoinKind, tuple[bool, bool]] = {
    "inner": (True, True),
    "left": (False, True),
    "right": (True, False),
    "full": (False, False),
    "semi": (True, True),
    "anti": (False, True),
}
"""Whether a condition of the join itself may move: a row that fails it must not be output without a match."""


def push_filters_into_joins(writes: Sequence[Write]) -> tuple[Write, ...]:
    """Push conditions below joins wherever a row that fails them could not be in the join's result."""
    return tuple(replace(write, input=_push_down(write.input)) for write in writes)


def _push_down(node: Node) -> Node:
    match node:
        case Filter(WindowJoin() | UpdatingJoin() as join, condition):
            tests = [test for test in conjuncts_of(condition) if not _is_matched(join, test)]
            joined, remaining = _push(join, tests, _ABOVE[join.kind])
            return with_filter(_push_down(joined), remaining)
        case Filter(LookupJoin() as join, condition):
            movable, remaining = _tests_of_side(conjuncts_of(condition), join.input)
            return with_filter(_push_down(replace(join, input=with_filter(join.input, movable))), remaining)
        case WindowJoin(condition=Call() as condition) | UpdatingJoin(condition=Call() as condition):
            joined, remaining = _push(node, conjuncts_of(condition), _WITHIN[node.kind])
            node = replace(joined, condition=all_of(remaining))
    return with_inputs(node, [_push_down(below) for below in inputs_of(node)])


def _is_matched(join: WindowJoin | UpdatingJoin, test: Expr) -> bool:
    """Whether an inner join guarantees the test already."""
    if join.kind != "inner" or not isinstance(test, Call) or test.function != "=":
        return False
    return any(set(test.arguments) == set(pair) for pair in join.equal)


def _push(
    join: WindowJoin | UpdatingJoin, tests: Sequence[Expr], may: tuple[bool, bool]
) -> tuple[WindowJoin | UpdatingJoin, list[Expr]]:
    """Return the join with the tests that may move below it, and the others."""
    remaining = list(tests)
    if may[0]:
        movable, remaining = _tests_of_side(remaining, join.left)
        join = replace(join, left=with_filter(join.left, movable))
    if may[1]:
        movable, remaining = _tests_of_side(remaining, join.right)
        join = replace(join, right=with_filter(join.right, movable))
    return join, remaining


def _tests_of_side(tests: Sequence[Expr], side: Node) -> tuple[list[Expr], list[Expr]]:
    names = set(side.schema.names)
    movable = [test for test in tests if columns_of(test) and columns_of(test) <= names and cannot_fail(test)]
    return movable, [test for test in tests if test not in movable]
