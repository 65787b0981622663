"""INTERVAL literals, and times that are moved by months.

A month has no fixed length, so an interval with months is no value of its own; it is taken apart where it is added:

    at + INTERVAL '1 month 2 days'   add_months(at, 1) + 2 days
    at - INTERVAL '1 year'           add_months(at, -12)
"""

from __future__ import annotations

from datetime import timedelta

from sqlglot import exp

from engine import types
from engine.errors import FunctionArgumentsError
from engine.plan.expressions.calls import call
from engine.plan.expressions.expr import Expr, Literal
from engine.sql.scalar.calls import Translate, make_call
from engine.values.durations import read_duration, read_months


def read_interval(node: exp.Interval) -> timedelta:
    """The length of an INTERVAL literal."""
    return read_duration(_written(node))


def translate_moved_by_months(node: exp.Expr, translate: Translate) -> Expr | None:
    """A time plus or minus an interval with months in it; None for every other expression."""
    if not isinstance(node, exp.Add | exp.Sub):
        return None
    start, interval = node.this, node.expression
    if isinstance(node, exp.Add) and isinstance(start, exp.Interval):
        start, interval = interval, start
    parts = read_months(_written(interval)) if isinstance(interval, exp.Interval) else None
    if parts is None or isinstance(start, exp.Interval):
        return None
    sign = -1 if isinstance(node, exp.Sub) else 1
    months, length = parts
    time = translate(start)
    moved = call("add_months", [time, Literal(sign * months, types.BIGINT)])
    if moved is None:
        raise FunctionArgumentsError(
            f"an interval of months cannot be added to a value of type {time.type}",
            hint="add it to a TIMESTAMP or a DATE",
        )
    return make_call("+", [moved, Literal(sign * length, types.Interval())]) if length else moved


def _written(node: exp.Interval) -> str:
    """The text of the interval: as it stood in the script (see `sql/text/dialect.py`), else number and unit."""
    written = str(node.meta.get("written", ""))
    if any(mark.isalpha() or mark == ":" for mark in written):
        return written
    unit = node.args.get("unit")
    amount = node.this.name if node.this is not None else ""
    return f"{amount} {unit.name}" if unit is not None else amount
