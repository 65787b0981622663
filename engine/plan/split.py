"""Where a plan stops being incremental.

The stream part runs as one Spark query; the epoch part runs over the rows that the stream part released in an
epoch. What is keyed by a closed window is complete in one epoch, so it belongs to the epoch part and needs no state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.plan.nodes import Branch, WindowAggregate, Write
from engine.plan.tree import Node, inputs_of, walk, with_inputs


@dataclass(frozen=True, slots=True)
class Parts:
    """The two halves of a plan: the branches of the stream part, and for each sink what becomes of them."""

    branches: tuple[Node, ...]
    writes: tuple[Write, ...]

    @property
    def is_stateful(self) -> bool:
        """Whether the stream part keeps state between epochs."""
        return any(isinstance(node, WindowAggregate) for branch in self.branches for node in walk(branch))


def split(writes: Sequence[Write]) -> Parts:
    """Cut below every node that must see a whole epoch; equal branches are shared."""
    branches: list[Node] = []

    def cut(node: Node) -> Node:
        if _needs_epoch(node):
            return with_inputs(node, [cut(below) for below in inputs_of(node)])
        if node not in branches:
            branches.append(node)
        return Branch(branches.index(node), node.schema)

    epoch = tuple(Write(cut(write.input), write.table) for write in writes)
    return Parts(tuple(branches), epoch)


def _needs_epoch(node: Node) -> bool:
    return any(isinstance(part, WindowAggregate) and not part.is_incremental for part in walk(node))
