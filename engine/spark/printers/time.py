"""Functions of time in Spark SQL; the session's time zone is UTC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine import types
from engine.functions.formats import to_java_pattern
from engine.plan.expr import Call, Literal
from engine.spark.casts import cast_to_sql, micros_to_sql
from engine.spark.literals import text_to_sql
from engine.spark.printers import Form

_PARTS = {
    "year": "year({0})",
    "isoyear": "extract(YEAROFWEEK FROM {0})",
    "quarter": "quarter({0})",
    "month": "month({0})",
    "week": "weekofyear({0})",
    "day": "day({0})",
    "doy": "dayofyear({0})",
    "dow": "(dayofweek({0}) - 1)",
    "isodow": "(weekday({0}) + 1)",
    "hour": "hour({0})",
    "minute": "minute({0})",
    "second": "second({0})",
    "millisecond": "CAST(extract(SECOND FROM {0}) * 1000 AS INT)",
    "microsecond": "CAST(extract(SECOND FROM {0}) * 1000000 AS INT)",
}


def _constant(call: Call, position: int) -> str:
    match call.arguments[position]:
        case Literal(str(text)):
            return text
    raise TypeError(f"argument {position + 1} of {call.function} is a constant text")


def _truncate(call: Call, arguments: Sequence[str]) -> str:
    return f"date_trunc('{_constant(call, 0).upper()}', {arguments[1]})"


def _part(call: Call, arguments: Sequence[str]) -> str:
    return _PARTS[_constant(call, 0).lower()].format(arguments[1])


def _epoch(call: Call, arguments: Sequence[str]) -> str:
    instant = arguments[0]
    if isinstance(call.arguments[0].type, types.Interval):
        instant = f"(timestamp_micros(0L) + {instant})"
    return f"(unix_micros({instant}) / 1e6D)"


def _bin(_: Call, arguments: Sequence[str]) -> str:
    width = f"unix_micros(timestamp_micros(0L) + {arguments[0]})"
    instant = f"unix_micros({arguments[1]})"
    since = f"{instant} - unix_micros({arguments[2]})" if len(arguments) == 3 else instant
    return f"timestamp_micros({instant} - pmod({since}, {width}))"


def _to_timestamp(call: Call, arguments: Sequence[str]) -> str:
    match call.arguments[0].type:
        case types.Timestamp():
            return arguments[0]
        case types.Integer():
            return f"timestamp_seconds({arguments[0]})"
        case types.Float():
            return f"timestamp_micros(CAST(round({arguments[0]} * 1e6D) AS BIGINT))"
        case kind:
            return cast_to_sql(arguments[0], kind, types.TIMESTAMP)


def _to_char(call: Call, arguments: Sequence[str]) -> str:
    pattern = to_java_pattern(_constant(call, 1))
    if pattern is None:
        raise TypeError("the format of to_char was not checked")
    return f"date_format({arguments[0]}, {text_to_sql(pattern)})"


TIME: Mapping[str, Form] = {
    "date_trunc": _truncate,
    "date_part": _part,
    "epoch": _epoch,
    "date_bin": _bin,
    "to_timestamp": _to_timestamp,
    "to_timestamp_seconds": "timestamp_seconds({0})",
    "to_timestamp_millis": "timestamp_millis({0})",
    "to_timestamp_micros": "timestamp_micros({0})",
    "to_timestamp_nanos": lambda _, arguments: micros_to_sql(arguments[0], 1000),
    "to_unixtime": "unix_seconds({0})",
    "to_char": _to_char,
    "make_date": "make_date(CAST({0} AS INT), CAST({1} AS INT), CAST({2} AS INT))",
}
