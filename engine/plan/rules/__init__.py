"""Rewrite rules of plans, one per module, applied in the order of RULES."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.plan.nodes import Write
from engine.plan.rules.drop_unused_columns import drop_unused_columns
from engine.plan.rules.limit_rankings import limit_rankings
from engine.plan.rules.push_filters_into_joins import push_filters_into_joins
from engine.plan.rules.separate_distinct import separate_distinct

Rule = Callable[[Sequence[Write]], tuple[Write, ...]]

RULES: tuple[Rule, ...] = (
    separate_distinct,  # first: it says what a window keeps
    push_filters_into_joins,  # before columns are dropped: a condition below a join is not read above it
    limit_rankings,  # before columns are dropped: an unused rank need not be computed
    drop_unused_columns,  # last: it must see every column that another rule wants
)


def optimize(writes: Sequence[Write]) -> tuple[Write, ...]:
    """Apply all rewrites to the writes; the result computes the same rows at lower cost."""
    for rule in RULES:
        writes = rule(writes)
    return tuple(writes)
