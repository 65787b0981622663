"""Plans of which nothing is left for Spark: their rows are decoded, chosen, computed and written in one task.

    INSERT INTO dear SELECT auction, 0.908 * price AS price FROM bids WHERE price > 1000

Nothing has to meet across tasks, and no state is kept, so a row need never leave the task that has decoded it. See
docs/decisions/sources-leave-out-what-no-query-wants.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine import types
from engine.plan.hidden import EVENT_TIME, is_hidden
from engine.plan.nodes import Branch, Fused, Project, Scan
from engine.plan.placement.fusable import is_fusable
from engine.plan.placement.reads import read_by
from engine.plan.placement.split import Parts
from engine.plan.tree import Node
from engine.schema import Field


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
    [branch] = parts.branches
    steps, lowest = _projections_of(branch)
    if not (all(map(_is_plain, branch.schema)) and _can_be_done(steps)):
        return None
    # without columns rows could not be counted, and nothing above reads one
    with_columns = tuple(step for step in steps if step.columns)
    match lowest:
        case Fused(Scan(table)):
            return WholeBranch(table, with_columns, branch.schema.names)
        case Scan(table, columns, is_changes=False) if not any(map(is_hidden, columns.names)):
            return WholeBranch(table, with_columns, branch.schema.names)
    return None


def _projections_of(node: Node) -> tuple[list[Project], Node]:
    """The projections that a relation begins with, the lowest first, and what is below them."""
    steps: list[Project] = []
    while isinstance(node, Project):
        steps.insert(0, node)
        node = node.input
    return steps, node


def _is_plain(field: Field) -> bool:
    """Whether a column can be written without Spark. Nested values cannot: Spark puts NULL into the members of a NULL
    struct, which a sink would see."""
    return not (isinstance(field.type, types.Struct | types.Array) or is_hidden(field.name))


def _can_be_done(steps: Sequence[Project]) -> bool:
    """Whether a task can compute them: it has event times for the lowest only, which reads them off the table."""
    exprs = [named.expr for step in steps for named in step.columns]
    return all(map(is_fusable, exprs)) and not any(EVENT_TIME in read_by(step) for step in steps[1:])
