"""Build calls and casts: check types, cast arguments, infer nullability."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from decimal import Decimal

from engine import types
from engine.functions import find_function
from engine.functions.arrow_types import arrow_unit, from_arrow_name
from engine.functions.base import Function, Signature
from engine.functions.coercion import can_cast
from engine.plan.expressions.expr import Call, Cast, Column, Expr, Literal, is_nullable
from engine.plan.tree import EVENT_TIME
from engine.values.durations import read_duration


def call(name: str, arguments: Sequence[Expr]) -> Expr | None:
    """Return the function of that name or alias applied to the arguments, cast to what it takes.

    None when there is no such function or the arguments do not fit. A text literal takes on whatever type makes
    the call fit, as in Postgres: `seen > '2024-01-01'` compares timestamps.
    """
    function = find_function(name)
    if function is not None and function.name == "named_struct":
        return make_named_struct(arguments)
    if function is None or not _constants_fit(function, arguments):
        return None
    if function.variants and (variant := function.variants.get(_word(arguments[0]) or "")):
        return call(variant, arguments[1:])
    match function.name, arguments:
        case "row_time", ():
            return Column(EVENT_TIME, types.TIMESTAMP, nullable=False)
        case "arrow_cast", (source, Literal(str(name))):
            return _arrow_cast(source, name)
    signature = _resolve(function, arguments)
    if signature is None:
        return None
    match function.name, arguments:
        case "negate", (Literal(int(number), types.Integer() as whole),) if whole.holds(-number):
            return Literal(-number, whole)
        case "negate", (Literal(float() | Decimal() | timedelta() as value, kind),):
            return Literal(-value, kind)
    operands = tuple(map(coerce, arguments, signature.arguments))
    if function.family == "json":
        operands = along_one_path(operands)
    return Call(function.name, operands, signature.result, function.nullable(map(is_nullable, operands)))


def coerce(expr: Expr, kind: types.Type) -> Expr:
    """Return the expression in that type, without a cast if it has the type already; NULL and numbers just change their
    type."""
    if expr.type == kind:
        return expr
    match expr:
        case Literal(None):
            return Literal(None, kind)
        case Literal(int(value), types.Integer()) if isinstance(kind, types.Integer) and kind.holds(value):
            return Literal(value, kind)
        case Literal(int(value), types.Integer()) if kind == types.DOUBLE:
            return Literal(float(value), kind)
        case Literal(str(text)) if isinstance(kind, types.Interval):
            return Literal(read_duration(text), kind)
    return Cast(expr, kind)


def cast(expr: Expr, kind: types.Type, *, lenient: bool = False) -> Expr | None:
    """Return the cast that a script requests, or None if no value of the one type can be one of the other."""
    if not can_cast(expr.type, kind):
        return None
    plain = coerce(expr, kind)
    return Cast(plain.input, kind, lenient) if isinstance(plain, Cast) and plain is not expr else plain


def _arrow_cast(value: Expr, name: str) -> Expr | None:
    """Return the cast to a type of Arrow. A whole number as a timestamp counts in the unit of that type."""
    kind = from_arrow_name(name)
    unit = arrow_unit(name)
    if unit is not None and isinstance(value.type, types.Integer):
        return call(f"to_timestamp_{_UNITS[unit]}", [value])
    result = None if kind is None else cast(value, kind)
    if result is None or unit is None or unit in ("microsecond", "nanosecond"):
        return result
    return call("date_trunc", [Literal(unit, types.TEXT), result])


_UNITS = {"second": "seconds", "millisecond": "millis", "microsecond": "micros", "nanosecond": "nanos"}


def _resolve(function: Function, arguments: Sequence[Expr]) -> Signature | None:
    signature = function.resolve([argument.type for argument in arguments])
    if signature is not None or not any(_is_text_literal(argument) for argument in arguments):
        return signature
    loose = [types.Null() if _is_text_literal(argument) else argument.type for argument in arguments]
    signature = function.resolve(loose)
    if signature is None:
        return None
    pairs = zip(arguments, signature.arguments, strict=True)
    return signature if all(_becomes(argument, kind) for argument, kind in pairs) else None


def _becomes(argument: Expr, kind: types.Type) -> bool:
    return can_cast(argument.type, kind) or (isinstance(kind, types.Interval) and _is_text_literal(argument))


def _constants_fit(function: Function, arguments: Sequence[Expr]) -> bool:
    return (
        all(
            _constant_fits(arguments[position], words)
            for position, words in function.choices.items()
            if position < len(arguments)
        )
        and all(
            _passes(arguments[position], check)
            for position, check in function.checks.items()
            if position < len(arguments)
        )
        and why_constants_differ(function, arguments) is None
    )


def why_constants_differ(function: Function, arguments: Sequence[Expr]) -> str | None:
    """Return why the constant arguments do not fit together; None if they do."""
    if function.refuses is None:
        return None
    return function.refuses([argument.value if isinstance(argument, Literal) else None for argument in arguments])


def _passes(argument: Expr, check: Callable[[str], bool]) -> bool:
    return not (isinstance(argument, Literal) and isinstance(argument.value, str)) or check(argument.value)


def _constant_fits(argument: Expr, words: frozenset[str]) -> bool:
    match argument:
        case Literal(str(text)):
            return not words or text.lower() in words
        case Literal(value):
            return value is not None and not words
    return False


def _word(argument: Expr) -> str | None:
    return argument.value.lower() if isinstance(argument, Literal) and isinstance(argument.value, str) else None


def _is_text_literal(argument: Expr) -> bool:
    return isinstance(argument, Literal) and isinstance(argument.value, str) and argument.type == types.TEXT


_LOOKUPS = ("json_get", "json_as_text")


def along_one_path(arguments: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Return the arguments of a JSON function: if the JSON is itself the result of a lookup, all keys in one path."""
    match arguments:
        case (Call(function, inside), *keys) if function in _LOOKUPS:
            return (*inside, *keys)
    return arguments


def part_as(part: Expr, kind: types.Type) -> Expr:
    """Return a part of JSON as a value of the nearest supported type: NULL if it has another type."""
    function, result = _getter_of(kind)
    return Call(function, along_one_path((part,)), result)


def _getter_of(kind: types.Type) -> tuple[str, types.Type]:
    match kind:
        case types.Boolean():
            return "json_get_bool", types.BOOLEAN
        case types.Integer():
            return "json_get_int", types.BIGINT
        case types.Float() | types.Decimal():
            return "json_get_float", types.DOUBLE
        case types.Json():
            return "json_get_json", types.JSON
    return "json_get_str", types.TEXT


def make_struct(names: Sequence[str], values: Sequence[Expr]) -> Expr | None:
    """Return a struct of the values with these names; None if two names are equal, or if there are none."""
    if not names or len({name.lower() for name in names}) < len(names):
        return None
    members = tuple(types.Member(name, value.type) for name, value in zip(names, values, strict=True))
    return Call("struct", tuple(values), types.Struct(members), nullable=False)


def make_named_struct(arguments: Sequence[Expr]) -> Expr | None:
    """Return alternating names and values; None if a name is no constant text."""
    names = [name.value for name in arguments[::2] if isinstance(name, Literal) and isinstance(name.value, str)]
    if len(names) * 2 != len(arguments):
        return None
    return make_struct(names, arguments[1::2])
