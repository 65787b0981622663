"""How far the watermark of a source is behind the event time of its rows."""

from __future__ import annotations

from datetime import timedelta

from engine import types
from engine.plan.expressions.expr import Call, Column, Expr, Literal
from engine.plan.hidden import EVENT_TIME


def fixed_delay(event_time: Expr | None, watermark: Expr) -> timedelta | None:
    """The length of time that the watermark is behind the event time, None when it differs from row to row; without an
    event time that is the moment of reading."""
    base = Column(EVENT_TIME, types.TIMESTAMP, nullable=False) if event_time is None else event_time
    match watermark:
        case Call("-", (minuend, Literal(timedelta() as delay))) if minuend == base:
            return delay
    return timedelta() if watermark == base else None
