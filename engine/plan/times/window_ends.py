"""When windows may end, so that an epoch in which none does need not look for those that have.

tumble(10 seconds)               every 10 s
hop(2 seconds, 5 seconds)        every 2 s, 1 s after each
session(10 seconds)              nobody knows
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from engine.plan.nodes import Hop, Session, Tumble, WindowAggregate
from engine.plan.tree import Node, walk_once


@dataclass(frozen=True, slots=True, order=True)
class Ends:
    """Moments with the same distance, the first of them so long after 1970."""

    every: timedelta
    since: timedelta


def window_ends(branches: Iterable[Node]) -> tuple[Ends, ...] | None:
    """Return the instants at which windows of a plan may end; None if they depend on the rows."""
    ends = set[Ends]()
    for window in (
        node.window for branch in branches for node in walk_once(branch) if isinstance(node, WindowAggregate)
    ):
        match window:
            case Tumble(width):
                ends.add(Ends(width, timedelta(0)))
            case Hop(slide, width):
                ends.add(Ends(slide, width % slide))
            case Session():
                return None
    return tuple(sorted(ends)) or None
