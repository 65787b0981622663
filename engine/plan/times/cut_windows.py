"""Which windows a range of event time cuts through, so that only a part of their rows is in it; pure.

from 00:00 to 24:00
tumble of an hour                   none: each lies within the range, or outside
tumble of 7 hours                   21:00 to 04:00 is cut, and so is 22:00 to 05:00 of the day before
hop of an hour, every 5 minutes     23:05 to 00:05 is cut, wherever the range begins
session                             any of them may go on beyond the range
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from engine.plan.nodes import Hop, Session, Tumble, Window, WindowAggregate, Write
from engine.plan.state.retained_state import spell
from engine.plan.tree import walk

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def cut_windows(writes: Sequence[Write], edges: Sequence[datetime]) -> list[str]:
    """In words, the windows of a plan that one of the edges may cut through."""
    windows = dict.fromkeys(
        node.window for write in writes for node in walk(write) if isinstance(node, WindowAggregate)
    )
    return [cut for window in windows for cut in _cuts(window, edges)]


def _cuts(window: Window, edges: Sequence[datetime]) -> Iterator[str]:
    for edge in edges:
        match window:
            case Tumble(width) if (edge - _EPOCH) % width:
                yield f"a tumble of {spell(width)} at {edge.isoformat()}"
            case Hop(slide, width) if slide != width or (edge - _EPOCH) % width != timedelta(0):
                yield f"hops of {spell(width)} at {edge.isoformat()}"
            case Session():
                yield f"sessions at {edge.isoformat()}"
