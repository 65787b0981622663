"""Aggregations and DISTINCT: within a window, or over all there ever was.

rows with a window       WindowAggregate: one row per window and key, once, when the window is closed
rows without one         UpdatingAggregate: one row per key, taken back and added again when it changes
rows whose window the GROUP BY drops     refused: their groups would never be complete, and never change either
"""

from __future__ import annotations

from datetime import timedelta

from engine.errors import UnsupportedClauseError, UpdatingQueryError, WindowMismatchError
from engine.plan.nodes import (
    Carried,
    Project,
    UpdatingAggregate,
    WindowAggregate,
    is_updating,
    pass_through,
    window_of,
)
from engine.plan.rules.separate_distinct import is_separable, without_sets
from engine.plan.tree import Node, walk


def distinct_rows(rows: Node, ttl: timedelta) -> Node:
    """Each row once: within its window if the rows carry one, else as a stream of changes."""
    columns = pass_through(rows.schema)
    _, window_column = window_of(rows) or (None, None)
    if window_column is None:
        return check_updating(UpdatingAggregate(rows, columns, (), ttl))
    keys = tuple(column for column in columns if column.name != window_column)
    return Project(WindowAggregate(rows, Carried(window_column), window_column, keys, ()), columns)


def check_updating(aggregate: UpdatingAggregate) -> UpdatingAggregate:
    """The aggregation over all there ever was; refused over rows of windows, which come once and never again."""
    if any(isinstance(node, WindowAggregate) for node in walk(aggregate.input)):
        raise WindowMismatchError(
            "an aggregate of rows that have a window must be grouped by the window",
            hint="add the window field of the input to GROUP BY, or to what is selected",
        )
    return aggregate


def check_windowed(aggregate: WindowAggregate) -> WindowAggregate:
    """The aggregation within windows; refused where rows change, and of different values where they cannot be told
    apart in two steps."""
    if is_updating(aggregate.input):
        raise UpdatingQueryError(
            "a time window cannot be closed over rows that are changed afterwards",
            hint="aggregate within the window first, or leave the window out",
        )
    if aggregate.is_incremental and not is_separable(aggregate) and (names := without_sets(aggregate)):
        raise UnsupportedClauseError(
            f"{min(names)}(DISTINCT ...) cannot be computed in a session, nor beside an "
            "aggregate that must see all rows",
            hint="group by the value as well, and aggregate by the window again",
        )
    return aggregate
