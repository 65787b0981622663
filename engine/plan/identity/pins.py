"""The names that hints of a script give to operators. Nodes are equal whatever they are called, and equal branches of a
plan are shared; so what is called something in one of them is called that in all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from engine.plan.nodes import UpdatingAggregate, UpdatingJoin, UpdatingTop, WindowAggregate
from engine.plan.tree import Node, inputs_of, walk, with_inputs

_STATEFUL = WindowAggregate | UpdatingAggregate | UpdatingJoin | UpdatingTop


def pins_of(nodes: Iterable[Node]) -> frozenset[str]:
    """All names in some trees."""
    return frozenset(
        part.pin for node in nodes for part in walk(node) if isinstance(part, _STATEFUL) and part.pin is not None
    )


def with_pins_of(node: Node, other: Node) -> Node:
    """The tree with the names of an equal one where it has none."""
    return _named(node, other) if pins_of([other]) else node


def _named(node: Node, other: Node) -> Node:
    pairs = zip(inputs_of(node), inputs_of(other), strict=True)
    named = with_inputs(node, [_named(below, equal) for below, equal in pairs])
    if isinstance(named, _STATEFUL) and isinstance(other, _STATEFUL) and named.pin is None:
        return replace(named, pin=other.pin)
    return named
