"""How the case tables write constants."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from engine import types
from engine.plan.expressions.calls import call
from engine.plan.expressions.expr import Call, Cast, Expr, Literal, Value

NAN = float("nan")
INF = float("inf")


def typed(value: Value, kind: types.Type) -> Literal:
    """A constant of a type other than the one its Python type stands for."""
    return Literal(value, kind)


def small(value: int | None) -> Literal:
    """An INT."""
    return Literal(value, types.INT)


def unsigned(value: int, bits: int = 64) -> Literal:
    """An unsigned number."""
    return Literal(value, types.Integer(bits, signed=False))


def decimal(text: str, precision: int, scale: int) -> Literal:
    """A DECIMAL."""
    return Literal(Decimal(text), types.Decimal(precision, scale))


def at(text: str) -> datetime:
    """An instant in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def seconds(count: float) -> timedelta:
    """A length of time."""
    return timedelta(seconds=count)


def literal(value: Value | Expr | list[Any]) -> Expr:
    """The constant as an expression, typed as a script would type it."""
    match value:
        case Literal() | Cast() | Call():
            return value
        case list():
            array = call("make_array", [literal(element) for element in value])
            assert array is not None
            return array
        case None:
            return Literal(None, types.Null())
        case bool():
            return Literal(value, types.BOOLEAN)
        case int():
            return Literal(value, types.BIGINT)
        case float():
            return Literal(value, types.DOUBLE)
        case str():
            return Literal(value, types.TEXT)
        case bytes():
            return Literal(value, types.Bytes())
        case datetime():
            return Literal(value, types.TIMESTAMP)
        case date():
            return Literal(value, types.Date())
        case timedelta():
            return Literal(value, types.Interval())
    raise TypeError(value)
