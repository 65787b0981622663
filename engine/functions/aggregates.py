"""Aggregate functions."""

from __future__ import annotations

from collections.abc import Sequence

from engine.functions.aggregates_statistical import APPROXIMATE, QUANTILES, STATISTICAL
from engine.functions.base import AggregateFunction, Retention, Signature, anything_known, comparable, number, takes
from engine.functions.coercion import bounded_decimal
from engine.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    TEXT,
    Array,
    Decimal,
    Float,
    Integer,
    Null,
    Type,
)


def _count(arguments: Sequence[Type]) -> Signature | None:
    return Signature(tuple(arguments), BIGINT) if len(arguments) <= 1 else None


def _summand(kind: Type) -> Type | None:
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


def _mean_argument(kind: Type) -> Type | None:
    return kind if isinstance(kind, Decimal) else DOUBLE if isinstance(kind, Integer | Float | Null) else None


def _same(arguments: tuple[Type, ...]) -> Type:
    return arguments[0]


def _bits(kind: Type) -> Type | None:
    return kind if isinstance(kind, Integer) else BIGINT if isinstance(kind, Null) else None


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_position(value: object) -> bool:
    return isinstance(value, int) and value != 0


def _array(arguments: tuple[Type, ...]) -> Type:
    return Array(arguments[0])


AGGREGATE_FUNCTIONS = (
    AggregateFunction(
        "count",
        "count(*) or count(value)",
        "How many rows there are, or how many values that are not NULL; never NULL.",
        _count,
        takes_star=True,
        nullable=False,
        retention=Retention.COUNT,
        combined_by="sum",
        distinct_by_set=True,
    ),
    AggregateFunction(
        "sum",
        "sum(number)",
        "The sum without NULLs; whole numbers give BIGINT and overflow fails the run; NULL when there is no value.",
        takes(_summand, result=_total),
        retention=Retention.TOTAL,
        combined_by="sum",
        distinct_by_set=True,
    ),
    AggregateFunction(
        "min",
        "min(value)",
        "The least value; NULL when there is none.",
        takes(comparable, result=_same),
        retention=Retention.LEAST,
        ignores_repeats=True,
        combined_by="min",
    ),
    AggregateFunction(
        "max",
        "max(value)",
        "The greatest value; NULL when there is none.",
        takes(comparable, result=_same),
        retention=Retention.GREATEST,
        ignores_repeats=True,
        combined_by="max",
    ),
    AggregateFunction(
        "avg",
        "avg(number)",
        "The mean without NULLs, DOUBLE except for DECIMAL; NULL when there is no value.",
        takes(_mean_argument, result=_mean),
        aliases=("mean",),
        retention=Retention.MEAN,
        distinct_by_set=True,
    ),
    AggregateFunction(
        "median",
        "median(number)",
        "The value in the middle, or the mean of the two there, as the type of the numbers: whole numbers are "
        "cut towards "
        "zero. NULLs are skipped; NULL when there is no value.",
        takes(number, result=_same),
        collects_in_window=True,
    ),
    AggregateFunction(
        "bit_and",
        "bit_and(whole)",
        "The bits set in every value; NULL when there is none.",
        takes(_bits, result=_same),
        ignores_repeats=True,
        combined_by="bit_and",
    ),
    AggregateFunction(
        "bit_or",
        "bit_or(whole)",
        "The bits set in any value; NULL when there is none.",
        takes(_bits, result=_same),
        ignores_repeats=True,
        combined_by="bit_or",
    ),
    AggregateFunction(
        "bit_xor",
        "bit_xor(whole)",
        "The bits set in an odd number of values; NULL when there is none.",
        takes(_bits, result=_same),
        retention=Retention.PARITY,
        combined_by="bit_xor",
    ),
    AggregateFunction(
        "bool_and",
        "bool_and(condition)",
        "Whether it is true for all rows; NULLs are skipped; NULL when there is nothing else.",
        takes(BOOLEAN, result=BOOLEAN),
        retention=Retention.EVERY_TRUE,
        ignores_repeats=True,
        combined_by="bool_and",
    ),
    AggregateFunction(
        "bool_or",
        "bool_or(condition)",
        "Whether it is true for any row; NULLs are skipped; NULL when there is nothing else.",
        takes(BOOLEAN, result=BOOLEAN),
        retention=Retention.ANY_TRUE,
        ignores_repeats=True,
        combined_by="bool_or",
    ),
    AggregateFunction(
        "array_agg",
        "array_agg(value [ORDER BY ...])",
        "All values as an array, NULLs included; NULL when there is no row.",
        takes(anything_known, result=_array),
        is_ordered=True,
        collects_in_window=True,
        takes_nulls=True,
    ),
    AggregateFunction(
        "string_agg",
        "string_agg(text, delimiter [ORDER BY ...])",
        "All texts that are not NULL in one, the delimiter, a constant, between them; NULL when there is none.",
        takes(TEXT, TEXT, result=TEXT),
        constants={1: _is_text},
        is_ordered=True,
        collects_in_window=True,
    ),
    AggregateFunction(
        "first_value",
        "first_value(value [ORDER BY ...])",
        "The value of the first row, in order of arrival unless ORDER BY says otherwise; it may be NULL.",
        takes(anything_known, result=_same),
        is_ordered=True,
        takes_nulls=True,
    ),
    AggregateFunction(
        "last_value",
        "last_value(value [ORDER BY ...])",
        "The value of the last row, in order of arrival unless ORDER BY says otherwise; it may be NULL.",
        takes(anything_known, result=_same),
        is_ordered=True,
        takes_nulls=True,
    ),
    AggregateFunction(
        "nth_value",
        "nth_value(value, n [ORDER BY ...])",
        "The value of the n-th row, a constant that counts from one, or from the end when negative; NULL when there "
        "are fewer rows.",
        takes(anything_known, BIGINT, result=_same),
        constants={1: _is_position},
        is_ordered=True,
        collects_in_window=True,
        takes_nulls=True,
    ),
    *STATISTICAL,
    *QUANTILES,
    *APPROXIMATE,
)
