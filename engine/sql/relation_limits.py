"""How large a plan may become.

    CREATE VIEW v1 AS SELECT * FROM s UNION ALL SELECT * FROM s;
    CREATE VIEW v2 AS SELECT * FROM v1 UNION ALL SELECT * FROM v1;   and so on, thirty times

is a short script for a plan of a billion relations. Relations that are used twice are the same object, so they are
measured once and counted twice, without walking through all of it.
"""

from __future__ import annotations

from engine.errors import TooLargeError
from engine.plan.tree import Node, inputs_of

MAX_RELATIONS = 10_000
MAX_LEVELS = 150


def count_relations(node: Node) -> int:
    """Count the relations of a plan, counting shared ones each time. Raise TooLargeError if there are too many, or too
    many levels."""
    size, levels = _measure(node, {})
    if size > MAX_RELATIONS or levels > MAX_LEVELS:
        raise TooLargeError(
            f"the plan has {min(size, 10**9)} relations on {levels} levels",
            hint=f"at most {MAX_RELATIONS} and {MAX_LEVELS} are allowed; a view that is used twice counts twice",
        )
    return size


def _measure(node: Node, measured: dict[int, tuple[int, int]]) -> tuple[int, int]:
    measure = measured.get(id(node))
    if measure is None:
        inputs = [_measure(child, measured) for child in inputs_of(node)]
        measure = 1 + sum(size for size, _ in inputs), 1 + max((levels for _, levels in inputs), default=0)
        measured[id(node)] = measure
    return measure
