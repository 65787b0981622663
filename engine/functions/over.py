"""Window functions: functions that OVER allows in addition to aggregates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.functions.base import Resolve, Signature, takes
from engine.functions.coercion import common_type
from engine.types import BIGINT, DOUBLE, Type


@dataclass(frozen=True, slots=True)
class OverFunction:
    """A window function. `constants` are the arguments (by index) that must be whole numbers; `sees_frame` if it uses
    only the rows of its frame."""

    name: str
    usage: str
    doc: str
    resolve: Resolve
    nullable: bool = True
    constants: frozenset[int] = frozenset()
    least: int = 1
    sees_frame: bool = False
    ignores_nulls: bool = False


def _value(kind: Type) -> Type:
    return kind


def _offset_value(arguments: Sequence[Type]) -> Signature | None:
    """Return the value, its distance in rows, and the default if there is no such row."""
    match list(arguments):
        case [kind]:
            return Signature((kind,), kind)
        case [kind, _]:
            return Signature((kind, BIGINT), kind)
        case [kind, _, default]:
            shared = common_type(kind, default)
            return None if shared is None else Signature((shared, BIGINT, shared), shared)
    return None


def _first(arguments: tuple[Type, ...]) -> Type:
    return arguments[0]


_DISTANCE = frozenset({1})
_LEAST = -(2**31) + 1
"""Smallest offset. Spark counts rows in 32 bits, and the smallest number has no opposite, which LEAD would need for
LAG."""

OVER_FUNCTIONS = (
    OverFunction(
        "row_number",
        "row_number() OVER (...)",
        "The number of the row in its partition, from 1, in the order given.",
        takes(result=BIGINT),
        nullable=False,
    ),
    OverFunction(
        "rank",
        "rank() OVER (...)",
        "The number of the first of the rows that are equal in the order; so there are gaps.",
        takes(result=BIGINT),
        nullable=False,
    ),
    OverFunction(
        "dense_rank",
        "dense_rank() OVER (...)",
        "How many different values come before, in the order, plus 1.",
        takes(result=BIGINT),
        nullable=False,
    ),
    OverFunction(
        "percent_rank",
        "percent_rank() OVER (...)",
        "The rank minus 1, divided by the number of other rows; 0 for a single row.",
        takes(result=DOUBLE),
        nullable=False,
    ),
    OverFunction(
        "cume_dist",
        "cume_dist() OVER (...)",
        "The share of the rows that come before or are equal in the order.",
        takes(result=DOUBLE),
        nullable=False,
    ),
    OverFunction(
        "ntile",
        "ntile(n) OVER (...)",
        "The number, from 1, of the row's share when the partition is cut into n shares as equal as can be.",
        takes(BIGINT, result=BIGINT),
        nullable=False,
        constants=frozenset({0}),
    ),
    OverFunction(
        "lag",
        "lag(value[, n[, default]]) OVER (...)",
        "The value n rows before, 1 if not given; the default, or NULL, when there is none.",
        _offset_value,
        constants=_DISTANCE,
        least=_LEAST,
        ignores_nulls=True,
    ),
    OverFunction(
        "lead",
        "lead(value[, n[, default]]) OVER (...)",
        "The value n rows after, 1 if not given; the default, or NULL, when there is none.",
        _offset_value,
        constants=_DISTANCE,
        least=_LEAST,
        ignores_nulls=True,
    ),
    OverFunction(
        "first_value",
        "first_value(value) OVER (...)",
        "The value in the first row of the frame.",
        takes(_value, result=_first),
        sees_frame=True,
        ignores_nulls=True,
    ),
    OverFunction(
        "last_value",
        "last_value(value) OVER (...)",
        "The value in the last row of the frame, which ends at the row's peers by default.",
        takes(_value, result=_first),
        sees_frame=True,
        ignores_nulls=True,
    ),
    OverFunction(
        "nth_value",
        "nth_value(value, n) OVER (...)",
        "The value in the row number n, from 1, of the frame; NULL when it is shorter.",
        takes(_value, BIGINT, result=_first),
        constants=_DISTANCE,
        sees_frame=True,
        ignores_nulls=True,
    ),
)
