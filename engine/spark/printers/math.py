"""Functions of numbers in Spark SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine import types
from engine.plan.expressions.expr import Call, Literal
from engine.spark.printers import Form, Printer
from engine.spark.printers.literals import text_to_sql, type_to_sql

# From here on every DOUBLE is a whole number, and soon too large for a BIGINT.
_RANGE = text_to_sql("not in the range of BIGINT, the factorial of ")
_TOO_LARGE = f"raise_error(concat({_RANGE}, CAST({{0}} AS STRING)))"
_ALL_WHOLE = "9e15D"


def _rounded(name: str) -> Printer:
    """Return a form that keeps the type: Spark returns BIGINT for DOUBLE, which cannot represent large numbers, NaN and
    the infinities."""

    def form(call: Call, arguments: Sequence[str]) -> str:
        value = arguments[0]
        if isinstance(call.type, types.Decimal):
            return f"CAST({name}({value}) AS {type_to_sql(call.type)})"
        kind = type_to_sql(call.type)
        return f"(CASE WHEN abs({value}) < {_ALL_WHOLE} THEN CAST({name}({value}) AS {kind}) ELSE {value} END)"

    return form


def _places(call: Call) -> int:
    match call.arguments[1:]:
        case (Literal(int(places)),):
            return places
    return 0


def _round(call: Call, arguments: Sequence[str]) -> str:
    return f"CAST(round({arguments[0]}, {_places(call)}) AS {type_to_sql(call.type)})"


def _truncate(call: Call, arguments: Sequence[str]) -> str:
    value, kind, places = arguments[0], type_to_sql(call.type), _places(call)
    factor = f"1e{abs(places)}D"
    scale, unscale = ("*", "/") if places > 0 else ("/", "*")
    moved = f"({value} {scale} {factor})" if places else value
    cut = f"CAST({moved} AS BIGINT)"
    cut = f"({cut} {unscale} {factor})" if places else cut
    return f"(CASE WHEN abs({moved}) < {_ALL_WHOLE} THEN CAST({cut} AS {kind}) ELSE {value} END)"


def _logarithm(name: str, value: str) -> str:
    """Return the logarithm, which is -Infinity at zero and NaN below, where Spark returns NULL."""
    below = f"CAST(CASE WHEN {value} = 0 THEN '-Infinity' WHEN {value} < 0 THEN 'NaN' END AS DOUBLE)"
    return f"(CASE WHEN {value} > 0 THEN {name}({value}) ELSE {below} END)"


def _log(_: Call, arguments: Sequence[str]) -> str:
    if len(arguments) == 1:
        return _logarithm("log10", arguments[0])
    base, value = arguments
    return f"({_logarithm('ln', value)} / {_logarithm('ln', base)})"


def _log1p(_: Call, arguments: Sequence[str]) -> str:
    value = arguments[0]
    return f"(CASE WHEN {value} > -1 THEN log1p({value}) ELSE {_logarithm('ln', f'({value} + 1D)')} END)"


MATH: Mapping[str, Form] = {
    "ceil": _rounded("ceil"),
    "floor": _rounded("floor"),
    "round": _round,
    "trunc": _truncate,
    "ln": lambda _, arguments: _logarithm("ln", arguments[0]),
    "log10": lambda _, arguments: _logarithm("log10", arguments[0]),
    "log2": lambda _, arguments: _logarithm("log2", arguments[0]),
    "log": _log,
    "factorial": (
        f"(CASE WHEN {{0}} < 2L THEN 1L WHEN {{0}} > 20L THEN {_TOO_LARGE} ELSE factorial(CAST({{0}} AS INT)) END)"
    ),
    "nanvl": "(CASE WHEN {1} IS NOT NULL THEN nanvl({0}, {1}) END)",
    "iszero": "({0} = 0)",
    "random": "rand()",
    "power": lambda call, arguments: None if call.type == types.BIGINT else f"power({', '.join(arguments)})",
    "log1p": _log1p,
    "conv": "conv({0}, CAST({1} AS INT), CAST({2} AS INT))",
    # Spark says false for NULL.
    "isnan": "({0} = CAST('NaN' AS DOUBLE))",
}
