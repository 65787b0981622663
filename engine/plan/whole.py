"""Plans of which nothing is left for Spark: their rows are decoded, chosen, computed and written in one task.

    INSERT INTO dear SELECT auction, 0.908 * price AS price FROM bids WHERE price > 1000

Nothing has to meet across tasks, and no state is kept, so a row need never leave the task that has decoded it.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine import types
from engine.plan.fusable import is_fusable
from engine.plan.hidden import EVENT_TIME, is_hidden
from engine.plan.nodes import Branch, Fused, Project, Scan
from engine.plan.reads import read_by
from engine.plan.split import Parts
from engine.plan.tree import Node


@dataclass(frozen=True, slots=True)
class WholeBranch:
    """A branch whose rows go as they are into a sink: the table that it reads, what becomes of its rows, the lowest
    projection first, and the names of the columns that come out."""

    table: str
    steps: tuple[Project, ...]
    names: tuple[str, ...]


def whole_branch(parts: Parts) -> WholeBranch | None:
    """The branch of fused parts that consist of nothing else than one that a task can do all of."""
    if len(parts.branches) != 1 or [write.input for write in parts.writes] != [Branch(0, parts.branches[0].schema)]:
        return None
    node: Node = parts.branches[0]
    schema = node.schema
    # what is nested looks different to a sink once Spark has put NULL into the members of what is NULL
    if any(isinstance(field.type, types.Struct | types.Array) or is_hidden(field.name) for field in schema):
        return None
    steps: list[Project] = []
    while isinstance(node, Project):
        if not all(is_fusable(named.expr) for named in node.columns) or any(
            EVENT_TIME in read_by(step) for step in steps
        ):
            return None
        if node.columns:  # without columns rows could not be counted, and nothing above reads one
            steps.insert(0, node)
        node = node.input
    match node:
        case Fused(Scan(table)):
            return WholeBranch(table, tuple(steps), schema.names)
        case Scan(table, columns, is_changes=False) if not any(map(is_hidden, columns.names)):
            return WholeBranch(table, tuple(steps), schema.names)
    return None
