"""Calls of declared functions as Spark SQL text.

A function that is not listed here has the same name and meaning in Spark. A template names each argument by its number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from engine.functions import FUNCTIONS
from engine.plan.expr import Call
from engine.spark.literals import type_to_sql
from engine.types import Integer

Printer: TypeAlias = Callable[[Call, Sequence[str]], str]


def call_to_sql(call: Call, arguments: Sequence[str]) -> str:
    """The call with its arguments already printed; the text can stand inside any other."""
    if call.function not in FUNCTIONS:
        raise KeyError(call.function)
    form = _FORMS.get(call.function)
    match form:
        case None:
            return f"{call.function}({', '.join(arguments)})"
        case str():
            return form.format(*arguments)
    return form(call, arguments)


def _joined(word: str) -> Printer:
    return lambda _, arguments: "(" + f" {word} ".join(arguments) + ")"


def _divide(call: Call, arguments: Sequence[str]) -> str:
    if isinstance(call.type, Integer):
        return f"CAST(({arguments[0]} div {arguments[1]}) AS {type_to_sql(call.type)})"
    return f"({arguments[0]} / {arguments[1]})"


def _in(_: Call, arguments: Sequence[str]) -> str:
    return f"({arguments[0]} IN ({', '.join(arguments[1:])}))"


_OPERATORS: Mapping[str, str | Printer] = {
    "+": "({0} + {1})",
    "-": "({0} - {1})",
    "*": "({0} * {1})",
    "/": _divide,
    "%": "({0} % {1})",
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
    "like": "({0} LIKE {1})",
    "not_like": "({0} NOT LIKE {1})",
    "ilike": "({0} ILIKE {1})",
    "not_ilike": "({0} NOT ILIKE {1})",
}

_FORMS: Mapping[str, str | Printer] = _OPERATORS
