"""Base class of plan nodes, and traversal of their trees.

Hidden columns: columns of rows in addition to the schema of their relation.

    stream part   columns, _timestamp, _wm                   and _heartbeat, from a source up to Spark's watermark
    changelog     columns, _timestamp, _retract, _id         and _wm, between joins of append-only rows
    a sink        columns, _retract, _id for changelog rows  and _timestamp, if files are partitioned by time

Scripts cannot select them; `row_time()` reads the event time. Their names are stored in state and must not change.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import fields, replace

from engine.schema import Schema


class Node(ABC):
    """A relation. Nodes are frozen dataclasses; inputs are the fields with nodes or tuples of nodes."""

    __slots__ = ()

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The columns that a reader of this relation can name; the event time is there without being named."""


def inputs_of(node: Node) -> tuple[Node, ...]:
    """Return the relations that a node reads, in order."""
    inputs: list[Node] = []
    for field in fields(node):  # type: ignore[arg-type]  # every node is a dataclass
        value = getattr(node, field.name)
        if isinstance(value, Node):
            inputs.append(value)
        elif isinstance(value, tuple):
            inputs.extend(part for part in value if isinstance(part, Node))
    return tuple(inputs)


def walk(node: Node) -> Iterator[Node]:
    """Yield the node and all below it, the top first."""
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
    """Return the node reading other relations instead, given in the order of `inputs_of`."""
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
    """Return the tree with `change` applied to every node, the lowest first."""
    return change(with_inputs(node, [rewrite(below, change) for below in inputs_of(node)]))


EVENT_TIME = "_timestamp"
"""Event time of the row. Every relation of the stream part has it if anything uses time."""
WATERMARK = "_wm"
"""Watermark of the row's source in its epoch: no older row will be accepted. Present if windows must close."""
RETRACT = "_retract"
"""Whether the row is a retraction (true) or an insert (false); never NULL. Present for changelog rows."""
ROW_ID = "_id"
"""BIGINT and never NULL, the same for all versions of one row. Present for changelog rows."""
HEARTBEAT = "_heartbeat"
"""True on the one row of an epoch without data, which carries the watermark even if nothing was read."""

HIDDEN = (EVENT_TIME, WATERMARK, RETRACT, ROW_ID, HEARTBEAT)
"""All hidden columns, in their order after the columns of a schema."""


def is_hidden(name: str) -> bool:
    """Whether a column of that name is a hidden one."""
    return name in HIDDEN


def hidden_in(columns: Container[str], names: Container[str]) -> list[str]:
    """Return the hidden columns among those of rows, in the order of `HIDDEN`. `names` are those of the relation's
    schema, which may have such a name if rows are never retracted."""
    return [name for name in HIDDEN if name in columns and name not in names]
