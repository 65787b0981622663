"""Calls of declared functions, cast to what they take, and what is said of those that do not fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from engine import types
from engine.errors import FunctionArgumentsError, TypeMismatchError, UnknownFunctionError
from engine.functions import find_function
from engine.functions.base import Function
from engine.functions.coercion import can_cast
from engine.plan.expressions.calls import call, coerce
from engine.plan.expressions.expr import Cast, Expr, Literal
from engine.plan.expressions.json_calls import part_as

Translate = Callable[[exp.Expr], Expr]
"""Gives the value of a node of the parser's tree."""
MakeCall = Callable[[str, Sequence[Expr]], Expr]
"""Gives a call with translated arguments."""
TranslateCall = Callable[[str, Sequence[exp.Expr]], Expr]
"""Gives a call whose arguments are nodes of the parser's tree."""


def make_call(name: str, arguments: Sequence[Expr]) -> Expr:
    """A declared function applied to arguments, cast to what it takes."""
    typed_call = call(name, arguments)
    if typed_call is not None:
        return typed_call
    function = find_function(name)
    if function is None:
        raise UnknownFunctionError(f"there is no function {name!r}")
    _check_constants(function, arguments)
    listing = ", ".join(str(argument.type) for argument in arguments)
    hint = f"use it as {function.usage}"
    if any(argument.type == types.JSON_PART for argument in arguments):
        hint = "read the JSON value as text with ->>, or cast it, for example (value -> 'key')::BIGINT"
    raise FunctionArgumentsError(f"{function.name} does not take ({listing})", hint=hint)


def cast_for(expr: Expr, kind: types.Type, target: str) -> Expr:
    """The expression as the type of its target, by any cast that there is. A part of JSON is written out as text, null
    where there is none."""
    if expr.type == types.JSON_PART:
        if kind == types.TEXT:
            return make_call("coalesce", [Cast(expr, kind), Literal("null", kind)])
        expr = part_as(expr, kind)
    if expr.type != kind and not can_cast(expr.type, kind):
        raise TypeMismatchError(f"{target} is of type {kind}, to which {expr.type} cannot be cast")
    return coerce(expr, kind)


def negated(node: exp.Expr, value: Expr) -> Expr:
    """The test, or its opposite: the parser keeps the NOT of NOT LIKE and IS NOT beside the operands."""
    return make_call("not", [value]) if node.args.get("negate") else value


def clipped(text: str) -> str:
    """The text as an error shows it, cut when it is long."""
    return text if len(text) <= 60 else text[:57] + "..."


def _check_constants(function: Function, arguments: Sequence[Expr]) -> None:
    """Refuse arguments that must be constants, or certain ones, and are not."""
    for index, words in function.choices.items():
        if index >= len(arguments):
            continue
        argument = arguments[index]
        if not isinstance(argument, Literal):
            raise FunctionArgumentsError(
                f"argument {index + 1} of {function.name} must be a constant", hint=f"use it as {function.usage}"
            )
        if words and str(argument.value).lower() not in words:
            raise FunctionArgumentsError(
                f"{argument.value!r} is not a valid argument of {function.name}",
                hint=f"it takes {', '.join(sorted(words))}",
            )
    for index, is_valid in function.checks.items():
        match arguments[index : index + 1]:
            case [Literal(str(text))] if not is_valid(text):
                advice = None if function.advice is None else function.advice(text)
                raise FunctionArgumentsError(
                    f"argument {index + 1} of {function.name} cannot be {clipped(text)!r}",
                    hint=advice or f"use it as {function.usage}",
                )
