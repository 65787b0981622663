"""What plans call and read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from engine.plan.expressions.expr import Call
from engine.plan.nodes import Aggregate, NamedOver
from engine.plan.tree import Node, walk
from engine.types import Type


def calls_of(node: Node) -> Iterator[Call]:
    """Every call in the expressions of the node and all nodes below it, whatever fields hold them."""
    return (call for relation in walk(node) for call in _inside(relation) if isinstance(call, Call))


def functions_of(node: Node) -> Iterator[str]:
    """The names of all functions and aggregates that the node and all nodes below it call."""
    return (call.function for relation in walk(node) for call in _inside(relation))


def _inside(value: object) -> Iterator[Call | Aggregate | NamedOver]:
    if isinstance(value, Call | Aggregate | NamedOver):
        yield value
    if isinstance(value, tuple):
        parts = list(value)
    elif is_dataclass(value) and not isinstance(value, Type):
        parts = [getattr(value, field.name) for field in fields(value)]
    else:
        return
    for part in parts:
        if not isinstance(part, Node):
            yield from _inside(part)
