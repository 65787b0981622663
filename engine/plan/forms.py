"""Updating aggregates that were changed while they ran: what they have kept may still be of the aggregates before.

    the state     operator 0 began as count(*), min(n)
    the script    count(*), sum(n)
    as it runs    UpdatingAggregate count(*), sum(n), of which each bucket is told what it may be kept as

It is a matter of the state, as what windows withhold is (`plan/withheld.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import TypeAlias

from engine.plan.nodes import UpdatingAggregate
from engine.plan.operators import Operator, is_stateful
from engine.plan.split import Parts
from engine.plan.tree import Node, inputs_of, with_inputs

Forms: TypeAlias = Mapping[int, tuple[str, ...]]
"""By the number of an operator a text for each aggregate of which its state was when it was first changed."""


def form_of(operator: Operator) -> tuple[str, ...]:
    """A text for what each aggregate of an operator means, in their order."""
    assert isinstance(operator.node, UpdatingAggregate)
    first = len(operator.node.keys)
    return tuple(part.meaning for part in operator.columns[first : first + len(operator.node.aggregates)])


def with_forms(parts: Parts, forms: Forms, operators: Sequence[Operator]) -> Parts:
    """The plan, whose operators these are, as it runs over such a state."""
    numbers = count()
    wanted = {number: form_of(operators[number]) for number in forms}
    return replace(parts, branches=tuple(_with_forms(branch, forms, wanted, numbers) for branch in parts.branches))


def _with_forms(node: Node, forms: Forms, wanted: Forms, numbers: Iterator[int]) -> Node:
    number = next(numbers) if is_stateful(node) else None
    changed = with_inputs(node, [_with_forms(below, forms, wanted, numbers) for below in inputs_of(node)])
    if number is None or number not in forms:
        return changed
    assert isinstance(changed, UpdatingAggregate)
    return replace(changed, began_as=forms[number], form=wanted[number])
