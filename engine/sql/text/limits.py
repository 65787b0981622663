"""How large a plan may become.

Views and CTEs that are used twice double it, so a short script can ask for a great deal.
"""

from __future__ import annotations

from engine.errors import TooLargeError
from engine.plan.tree import Node, inputs_of

MAX_RELATIONS = 10_000
MAX_LEVELS = 150


def count_relations(node: Node) -> int:
    """How many relations the plan of this one has, counting again what is used again. Raises TooLargeError when they
    are too many, or too many on top of each other."""
    size, levels = _measure(node, {})
    if size > MAX_RELATIONS or levels > MAX_LEVELS:
        raise TooLargeError(
            f"the plan has {min(size, 10**9)} relations on {levels} levels",
            hint=f"at most {MAX_RELATIONS} and {MAX_LEVELS} are planned; views that are used twice are planned twice",
        )
    return size


def _measure(node: Node, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    found = known.get(id(node))
    if found is None:
        below = [_measure(one, known) for one in inputs_of(node)]
        found = 1 + sum(size for size, _ in below), 1 + max((levels for _, levels in below), default=0)
        known[id(node)] = found
    return found
