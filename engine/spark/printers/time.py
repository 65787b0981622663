"""Functions of time in Spark SQL; the session's time zone is UTC."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from engine import types
from engine.functions.parsers.time_patterns import to_java_pattern
from engine.plan.expressions.expr import Call, Literal
from engine.spark.printers import Form, Printer
from engine.spark.printers.casts import cast_to_sql, micros_to_sql
from engine.spark.printers.literals import text_to_sql

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
    return _PARTS[_constant(call, 0).lower().removesuffix("s")].format(arguments[1])


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


def _to_timestamp(call: Call, arguments: Sequence[str]) -> str | None:
    match [argument.type for argument in call.arguments]:
        case [types.Timestamp()]:
            return arguments[0]
        case [types.Integer()]:
            return f"timestamp_seconds({arguments[0]})"
        case [types.Float()]:
            return f"timestamp_micros(CAST(round({arguments[0]} * 1e6D) AS BIGINT))"
        case [kind]:
            return cast_to_sql(arguments[0], kind, types.TIMESTAMP)
    return None


def _counted(unit: str, from_number: Callable[[str], str]) -> Printer:
    def form(call: Call, arguments: Sequence[str]) -> str | None:
        if isinstance(call.arguments[0].type, types.Integer):
            return from_number(arguments[0])
        instant = _to_timestamp(call, arguments)
        return None if instant is None else f"date_trunc('{unit}', {instant})"

    return form


def _to_date(call: Call, arguments: Sequence[str]) -> str | None:
    if isinstance(call.arguments[0].type, types.Integer):
        return f"date_from_unix_date(CAST({arguments[0]} AS INT))"
    instant = _to_timestamp(call, arguments)
    return None if instant is None else f"CAST({instant} AS DATE)"


def _to_unixtime(call: Call, arguments: Sequence[str]) -> str | None:
    instant = _to_timestamp(call, arguments)
    return None if instant is None else f"unix_seconds({instant})"


def _to_char(call: Call, arguments: Sequence[str]) -> str | None:
    match call.arguments[1]:
        case Literal(str(text)) if pattern := to_java_pattern(text):
            return f"date_format({arguments[0]}, {text_to_sql(pattern)})"
    return None


def _unit(call: Call) -> str:
    return _constant(call, 0).lower().removesuffix("s")


def _timestampadd(call: Call, arguments: Sequence[str]) -> str:
    return f"timestampadd({_unit(call).upper()}, CAST({arguments[1]} AS INT), {arguments[2]})"


def _timestampdiff(call: Call, arguments: Sequence[str]) -> str:
    return f"timestampdiff({_unit(call).upper()}, {arguments[1]}, {arguments[2]})"


_LENGTHS = {
    "microsecond": 1,
    "millisecond": 1000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_NUMBERED = {
    "month": "(CAST(year({0}) AS BIGINT) * 12 + month({0}))",
    "quarter": "(CAST(year({0}) AS BIGINT) * 4 + quarter({0}))",
    "year": "CAST(year({0}) AS BIGINT)",
}


def _date_diff(call: Call, arguments: Sequence[str]) -> str:
    unit = _unit(call)
    if unit in _NUMBERED:
        numbered = _NUMBERED[unit]
        return f"({numbered.format(arguments[2])} - {numbered.format(arguments[1])})"
    start, end = (f"unix_micros(date_trunc('{unit.upper()}', {instant}))" for instant in arguments[1:])
    return f"(({end} - {start}) div {_LENGTHS[unit]}L)"


TIME: Mapping[str, Form] = {
    "date_trunc": _truncate,
    "date_part": _part,
    "epoch": _epoch,
    "date_bin": _bin,
    "to_timestamp": _to_timestamp,
    "to_timestamp_seconds": _counted("SECOND", lambda number: f"timestamp_seconds({number})"),
    "to_timestamp_millis": _counted("MILLISECOND", lambda number: f"timestamp_millis({number})"),
    "to_timestamp_micros": _counted("MICROSECOND", lambda number: f"timestamp_micros({number})"),
    "to_timestamp_nanos": _counted("MICROSECOND", lambda number: micros_to_sql(number, 1000)),
    "from_unixtime": "timestamp_seconds({0})",
    "to_unixtime": _to_unixtime,
    "to_date": _to_date,
    "to_local_time": "{0}",
    "to_char": _to_char,
    "now": "current_timestamp()",
    "current_date": "CAST(current_timestamp() AS DATE)",
    "current_time": "date_format(current_timestamp(), 'HH:mm:ss.SSSSSS')",
    "add_months": "timestampadd(MONTH, CAST({1} AS INT), {0})",
    "timestampadd": _timestampadd,
    "timestampdiff": _timestampdiff,
    "date_diff": _date_diff,
    "make_date": "make_date(CAST({0} AS INT), CAST({1} AS INT), CAST({2} AS INT))",
}
