"""Split a plan into a stream part and an epoch part.

    INSERT INTO top SELECT ... row_number() OVER (PARTITION BY window ORDER BY n) of counts by window and key

    stream part   branch 0: WindowAggregate n by window, key <- Scan      emits rows when the watermark closes windows
    epoch part    Write top <- Over by window <- Branch 0                 runs over the rows emitted in one epoch

The stream part runs as one Spark query; the epoch part runs over the rows that it emits in an epoch. Rows of a closed
window are complete in one epoch, so relations over them need no state and belong to the epoch part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.plan.identity.fingerprint import with_pins_of
from engine.plan.nodes import (
    Branch,
    EventTimeOver,
    Filter,
    Over,
    Project,
    Top,
    UpdatingAggregate,
    UpdatingJoin,
    UpdatingTop,
    WindowAggregate,
    WindowJoin,
    Write,
)
from engine.plan.placement.reads import read_by
from engine.plan.tree import EVENT_TIME, Node, inputs_of, walk, with_inputs


@dataclass(frozen=True, slots=True)
class Parts:
    """The two parts of a plan: the branches of the stream part, and per sink the relations over them."""

    branches: tuple[Node, ...]
    writes: tuple[Write, ...]

    @property
    def closes_windows(self) -> bool:
        """Whether the stream part stores windows, or rows, until the watermark closes or passes them."""
        return any(
            isinstance(node, WindowAggregate | EventTimeOver) for branch in self.branches for node in walk(branch)
        )

    @property
    def is_updating(self) -> bool:
        """Whether the stream part emits changelog rows."""
        kinds = (UpdatingAggregate, UpdatingJoin, UpdatingTop)
        return any(isinstance(node, kinds) for branch in self.branches for node in walk(branch))

    @property
    def reads_time(self) -> bool:
        """Whether the epoch part reads the event time of its input rows."""
        return any(_reads_time(node) for write in self.writes for node in walk(write))


def split(writes: Sequence[Write]) -> Parts:
    """Split below every node that must see a whole epoch; equal branches are shared. If branches differ only in their
    processing of the same windows, the split is below that, so that those windows are stored once."""
    tops = {top for write in writes for top in _tops(write.input)}
    counts = Counter(_windows_below(top) for top in tops)
    branches: list[Node] = []

    def cut(node: Node) -> Node:
        windows = _windows_below(node)
        is_above = windows is not None and windows != node and counts[windows] > 1
        if is_above or _needs_epoch(node):
            return with_inputs(node, [cut(below) for below in inputs_of(node)])
        if node not in branches:
            branches.append(node)
        place = branches.index(node)
        branches[place] = with_pins_of(branches[place], node)
        return Branch(place, node.schema)

    epoch = tuple(Write(cut(write.input), write.table) for write in writes)
    return Parts(tuple(branches), epoch)


def _tops(node: Node) -> Iterator[Node]:
    """Yield the highest relations that need not see a whole epoch."""
    if not _needs_epoch(node):
        yield node
        return
    for below in inputs_of(node):
        yield from _tops(below)


def _windows_below(node: Node) -> WindowAggregate | None:
    """Return the windows whose rows a relation only projects and filters."""
    while isinstance(node, Project | Filter):
        node = node.input
    return node if isinstance(node, WindowAggregate) and node.is_incremental else None


def _reads_time(node: Node) -> bool:
    return EVENT_TIME in read_by(node) or (isinstance(node, WindowJoin) and node.windows is None)


def _needs_epoch(node: Node) -> bool:
    return any(_sees_windows(part) for part in walk(node))


def _sees_windows(node: Node) -> bool:
    """Whether the node combines the rows of one window, all of which arrive in one epoch."""
    match node:
        case WindowAggregate():
            return not node.is_incremental
        case WindowJoin() | Over() | Top():
            return True
    return False
