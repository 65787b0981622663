"""What every plan node is, and how to go through a tree of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace

from engine.schema import Schema


class Node(ABC):
    """A relation. Nodes are frozen dataclasses; inputs are the fields that hold nodes or tuples of nodes."""

    __slots__ = ()

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The columns that a reader of this relation can name; the event time is there without being named."""


def inputs_of(node: Node) -> tuple[Node, ...]:
    """The relations that a node reads, in order."""
    inputs: list[Node] = []
    for field in fields(node):  # type: ignore[arg-type]  # every node is a dataclass
        value = getattr(node, field.name)
        if isinstance(value, Node):
            inputs.append(value)
        elif isinstance(value, tuple):
            inputs.extend(part for part in value if isinstance(part, Node))
    return tuple(inputs)


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, the top first."""
    yield node
    for below in inputs_of(node):
        yield from walk(below)


def walk_once(node: Node) -> Iterator[Node]:
    """Walk the tree and yield each node once, however many parents it has: a tree of shared nodes may have very many
    paths."""
    visited: set[int] = set()
    stack = [node]
    while stack:
        top = stack.pop()
        if id(top) not in visited:
            visited.add(id(top))
            stack.extend(inputs_of(top))
            yield top


def with_inputs(node: Node, inputs: Sequence[Node]) -> Node:
    """The node reading other relations instead, given in the order of `inputs_of`."""
    replacements = iter(inputs)
    changed: dict[str, object] = {}
    for field in fields(node):  # type: ignore[arg-type]  # every node is a dataclass
        value = getattr(node, field.name)
        if isinstance(value, Node):
            changed[field.name] = next(replacements)
        elif isinstance(value, tuple) and any(isinstance(part, Node) for part in value):
            changed[field.name] = tuple(next(replacements) for _ in value)
    return replace(node, **changed) if changed else node  # type: ignore[type-var]


def rewrite(node: Node, change: Callable[[Node], Node]) -> Node:
    """The tree with `change` applied to every node, the lowest first."""
    return change(with_inputs(node, [rewrite(below, change) for below in inputs_of(node)]))
