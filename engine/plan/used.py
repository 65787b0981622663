"""What plans call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from engine.plan.expr import Call
from engine.plan.tree import Node, walk
from engine.types import Type


def calls_of(node: Node) -> Iterator[Call]:
    """Every call in the expressions of the node and all nodes below it, whatever fields hold them."""
    for one in walk(node):
        yield from _inside(one)


def _inside(value: object) -> Iterator[Call]:
    if isinstance(value, Call):
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
