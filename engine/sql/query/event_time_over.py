"""OVER without a time window: functions over the earlier rows of a partition, in the order of event time.

    SELECT k, n, sum(n) OVER (PARTITION BY k ORDER BY at RANGE BETWEEN INTERVAL '10 minutes' PRECEDING AND CURRENT ROW)

    EventTimeOver by k      __over0 = sum(n), over the rows of ten minutes; each row comes out once, when the watermark
    Project                 k, n, sum = __over0          has passed it

So no row changes afterwards. A row whose frame looks ahead waits until the watermark has passed the later rows too, or
until they can only belong to the next start of the partition. So `updating_ttl` limits the wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from engine.errors import OverError, UnsupportedClauseError, UpdatingQueryError
from engine.functions import AGGREGATES
from engine.functions.base import Retention
from engine.plan.expressions.expr import Column, Expr, Literal
from engine.plan.nodes import (
    EventTimeOver,
    Filter,
    Frame,
    LookupJoin,
    NamedOver,
    Order,
    Project,
    Scan,
    Union,
    Unnest,
    WindowAggregate,
    is_updating,
)
from engine.plan.tree import EVENT_TIME, Node, walk_once

_OF_A_ROW = frozenset({"row_number", "lag", "lead", "first_value", "last_value"})
_IGNORING_NULLS = ("first_value", "last_value")
_HINT = "write OVER (PARTITION BY ... ORDER BY event time), or aggregate by tumble(...), hop(...) or session(...) in a "
_HINT += "sub-query, and use OVER around it; row_number, rank and dense_rank take any order"


def over_event_time(rows: Node, functions: Sequence[NamedOver], ttl: timedelta) -> Node:
    """Return the rows with a column for every function. All functions have one partition and order."""
    check_rows(rows)
    first = functions[0]
    for function in functions:
        if not function.order or not _is_event_time(function.order[0], rows):
            raise OverError("OVER without a window goes by event time", hint=_HINT)
        if (function.partition, function.order) != (first.partition, first.order):
            raise OverError(
                "functions by event time need the same PARTITION BY and ORDER BY in one SELECT",
                hint="give all of them the same words in parentheses",
            )
    then = first.order[1:]
    named = tuple(replace(_with_frame(function, then), partition=(), order=()) for function in functions)
    return EventTimeOver(rows, first.partition, then, named, ttl)


def check_rows(rows: Node, subject: str = "OVER by event time") -> None:
    """Refuse rows that can change afterwards, and those that have waited for the watermark already."""
    if is_updating(rows):
        raise UpdatingQueryError(
            f"{subject} needs rows that are not changed afterwards",
            hint="use it below the aggregation, join or ranking",
        )
    if any(isinstance(node, WindowAggregate | EventTimeOver) for node in walk_once(rows)):
        raise OverError(
            f"{subject} needs the rows of sources",
            hint="use all functions in one SELECT, and OVER (PARTITION BY window ...) for the rows of a window",
        )


def _is_event_time(order: Order, rows: Node) -> bool:
    return not order.descending and is_event_time(order.expr, rows)


def is_event_time(expr: Expr, rows: Node) -> bool:
    """Whether an expression over rows is their event time."""
    if not isinstance(expr, Column):
        return isinstance(rows, Scan) and expr == rows.event_time
    if expr.name == EVENT_TIME:
        return True
    match rows:
        case Scan(event_time=Column(name)):
            return name == expr.name
        case Project(source, columns):
            return any(is_event_time(named.expr, source) for named in columns if named.name == expr.name)
        case Filter(source) | Unnest(source) | LookupJoin(source):
            return expr.name in source.schema.names and is_event_time(expr, source)
        case Union(inputs):
            place = rows.schema.names.index(expr.name)
            same = [(part, part.schema.fields[place]) for part in inputs]
            return all(is_event_time(Column(field.name, field.type, field.nullable), part) for part, field in same)
    return False


def _with_frame(function: NamedOver, then: Sequence[Order]) -> NamedOver:
    """Return the function with its frame: up to the row, or up to its peers."""
    name, frame = function.function, function.frame
    match name:
        case "row_number":
            return replace(function, frame=Frame("rows", None, 0))
        case "lag" | "lead":
            return _of_other_row(function)
        case "nth_value" | "ntile" | "rank" | "dense_rank" | "percent_rank" | "cume_dist":
            raise OverError(
                f"{name} cannot be used by event time",
                hint="use lag, lead or row_number(), or rank the rows of a window",
            )
    if function.ignore_nulls and name not in _IGNORING_NULLS:
        raise OverError(f"{name} takes no IGNORE NULLS by event time", hint="filter in a query below")
    if name not in _OF_A_ROW and (name not in AGGREGATES or AGGREGATES[name].retention is Retention.VALUES):
        raise UnsupportedClauseError(
            f"{name} cannot be used by event time", hint="aggregate by hop(...), or use it over the rows of a window"
        )
    frame = frame or Frame("range", None, 0)
    _check_frame(frame, then)
    return replace(function, frame=frame)


def _of_other_row(function: NamedOver) -> NamedOver:
    """Return lag or lead with the frame of the one row at its distance."""
    value, *others = function.arguments
    distance = others[0].value if others and isinstance(others[0], Literal) else 1
    assert isinstance(distance, int)
    if distance < 0 or function.ignore_nulls:
        written = "IGNORE NULLS" if function.ignore_nulls else "negative distance"
        name = function.function
        raise OverError(f"{name} takes no {written} by event time", hint=f"write {name}(value, n)")
    place = -distance if function.function == "lag" else distance
    return replace(function, arguments=(value, *others[1:]), frame=Frame("rows", place, place))


def _check_frame(frame: Frame, then: Sequence[Order]) -> None:
    if frame.end is None:
        raise OverError(
            "a frame by event time cannot reach to the end of the stream",
            hint="write ROWS n PRECEDING, or RANGE BETWEEN INTERVAL '10 minutes' PRECEDING AND CURRENT ROW",
        )
    if frame.end < 0 and (frame.unit == "range" or frame.start is None):
        raise OverError(
            "this frame ends before the current row, and is not counted in rows",
            hint="write ROWS BETWEEN n PRECEDING AND m PRECEDING",
        )
    if frame.unit == "range" and (frame.start or frame.end) and then:
        raise OverError(
            "RANGE with an interval goes by event time alone", hint="leave out what is behind it in ORDER BY"
        )
