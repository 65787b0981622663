"""Operators and conditional functions in Spark SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine import types
from engine.plan.expressions.expr import Call, Literal
from engine.spark.printers import Form, Printer
from engine.spark.printers.literals import text_to_sql, type_to_sql
from engine.spark.printers.regex import REGEX, matches

_ESCAPES = text_to_sql(r"\\([^%_\\])|(\\[%_\\])")
_WITHOUT_ESCAPE = text_to_sql("$1$2")


def _joined(word: str) -> Printer:
    return lambda _, arguments: "(" + f" {word} ".join(arguments) + ")"


def _moved(operator: str, move: str) -> Printer:
    """Return a sum or difference; days are moved by whole numbers of days."""

    def form(call: Call, arguments: Sequence[str]) -> str:
        left, right = arguments
        if not isinstance(call.type, types.Date):
            return f"({left} {operator} {right})"
        if not isinstance(call.arguments[0].type, types.Date):
            left, right = right, left
        return f"{move}({left}, CAST({right} AS INT))"

    return form


def _divide(call: Call, arguments: Sequence[str]) -> str:
    left, right = arguments
    if isinstance(call.type, types.Integer):
        return f"CAST(({left} div {right}) AS {type_to_sql(call.type)})"
    if isinstance(call.type, types.Decimal):
        # Spark rounds behind more places; what is left of the division by the last place kept is cut off
        scale = call.type.scale
        place = f"CAST('{10.0**-scale:.{scale}f}' AS DECIMAL({scale}, {scale}))"
        quotient = f"({left} / {right})"
        return f"CAST(({quotient} - {quotient} % {place}) AS {type_to_sql(call.type)})"
    return f"({left} / {right})"


def _shift(name: str) -> Printer:
    """Return a form that shifts within the type: Spark shifts types narrower than INT as INT."""

    def form(call: Call, arguments: Sequence[str]) -> str:
        number, count = arguments
        width = call.type.bits if isinstance(call.type, types.Integer) else 64
        moved = f"{name}({number}, CAST(pmod({count}, {width}L) AS INT))"
        if width >= 32:
            return moved
        half = 1 << width - 1
        return f"CAST(pmod({moved} + {half}, {2 * half}) - {half} AS {type_to_sql(call.type)})"

    return form


def _in(_: Call, arguments: Sequence[str]) -> str:
    return f"({arguments[0]} IN ({', '.join(arguments[1:])}))"


def _like(operator: str) -> Printer:
    """Return a form that accepts a backslash before an ordinary character, which stands for the character; Spark
    refuses it."""

    def form(call: Call, arguments: Sequence[str]) -> str:
        text, pattern = arguments
        match call.arguments[1]:
            case Literal(str(value)) if "\\" not in value:
                return f"({text} {operator} {pattern})"
        return f"({text} {operator} regexp_replace({pattern}, {_ESCAPES}, {_WITHOUT_ESCAPE}))"

    return form


OPERATORS: Mapping[str, Form] = {
    "+": _moved("+", "date_add"),
    "-": _moved("-", "date_sub"),
    "*": "({0} * {1})",
    "/": _divide,
    "%": "({0} % {1})",
    "&": "({0} & {1})",
    "|": "({0} | {1})",
    "#": "({0} ^ {1})",
    "<<": _shift("shiftleft"),
    ">>": _shift("shiftright"),
    "negate": "(- {0})",
    "=": "({0} = {1})",
    "<>": "({0} <> {1})",
    "<": "({0} < {1})",
    "<=": "({0} <= {1})",
    ">": "({0} > {1})",
    ">=": "({0} >= {1})",
    "is_distinct_from": "(NOT ({0} <=> {1}))",
    "is_not_distinct_from": "({0} <=> {1})",
    "between": "({0} BETWEEN {1} AND {2})",
    "in": _in,
    "and": _joined("AND"),
    "or": _joined("OR"),
    "not": "(NOT {0})",
    "is_null": "({0} IS NULL)",
    "is_not_null": "({0} IS NOT NULL)",
    "is_true": "({0} IS TRUE)",
    "is_not_true": "({0} IS NOT TRUE)",
    "is_false": "({0} IS FALSE)",
    "is_not_false": "({0} IS NOT FALSE)",
    "||": _joined("||"),
    "like": _like("LIKE"),
    "not_like": _like("NOT LIKE"),
    "ilike": _like("ILIKE"),
    "not_ilike": _like("NOT ILIKE"),
    "~": lambda call, arguments: matches(call.arguments[1], *arguments),
    "~*": lambda call, arguments: matches(call.arguments[1], *arguments, flags="i"),
    "!~": lambda call, arguments: f"(NOT {matches(call.arguments[1], *arguments)})",
    "!~*": lambda call, arguments: f"(NOT {matches(call.arguments[1], *arguments, flags='i')})",
    **REGEX,
}
