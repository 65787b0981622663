"""Functions of all rows of a group."""

from __future__ import annotations

from collections.abc import Sequence

from engine.functions.base import AggregateFunction, Resolve, Signature, takes
from engine.functions.coercion import bounded_decimal
from engine.functions.parameters import anything
from engine.types import (
    BIGINT,
    DOUBLE,
    Array,
    Boolean,
    Bytes,
    Date,
    Decimal,
    Float,
    Integer,
    Interval,
    Json,
    Null,
    Text,
    Timestamp,
    Type,
)


def _count(arguments: Sequence[Type]) -> Signature | None:
    return Signature(tuple(arguments), BIGINT) if len(arguments) <= 1 else None


def _summed(kind: Type) -> Type | None:
    match kind:
        case Integer(_, signed):
            return Integer(64, signed)
        case Null():
            return BIGINT
        case Float():
            return DOUBLE
        case Decimal():
            return kind
    return None


def _total(arguments: tuple[Type, ...]) -> Type:
    match arguments[0]:
        case Decimal(precision, scale):
            return bounded_decimal(min(38, precision + 10), scale)
        case kind:
            return kind


def _mean(arguments: tuple[Type, ...]) -> Type:
    match arguments[0]:
        case Decimal(precision, scale):
            return bounded_decimal(precision + 4, scale + 4)
    return DOUBLE


def _averaged(kind: Type) -> Type | None:
    return kind if isinstance(kind, Decimal) else DOUBLE if isinstance(kind, Integer | Float | Null) else None


def _ordered(kind: Type) -> Type | None:
    ranked = Boolean | Integer | Float | Decimal | Text | Json | Bytes | Timestamp | Date | Interval | Null
    return kind if isinstance(kind, ranked) else None


def _same(arguments: tuple[Type, ...]) -> Type:
    return arguments[0]


def _array(arguments: tuple[Type, ...]) -> Type:
    return Array(arguments[0])


def _extreme() -> Resolve:
    return takes(_ordered, result=_same)


AGGREGATE_FUNCTIONS = (
    AggregateFunction(
        "count",
        "count(*) or count(value)",
        "How many rows there are, or how many values that are not NULL; never NULL.",
        _count,
        takes_star=True,
        nullable=False,
    ),
    AggregateFunction(
        "sum",
        "sum(number)",
        "The sum without NULLs; whole numbers give BIGINT and overflow fails the run; NULL when there is no value.",
        takes(_summed, result=_total),
    ),
    AggregateFunction("min", "min(value)", "The least value; NULL when there is none.", _extreme()),
    AggregateFunction("max", "max(value)", "The greatest value; NULL when there is none.", _extreme()),
    AggregateFunction(
        "avg",
        "avg(number)",
        "The mean without NULLs, DOUBLE unless of DECIMAL; NULL when there is no value.",
        takes(_averaged, result=_mean),
        aliases=("mean",),
    ),
    AggregateFunction(
        "array_agg",
        "array_agg(value)",
        "All values as an array, NULLs included; NULL when there is no row.",
        takes(anything, result=_array),
    ),
)
