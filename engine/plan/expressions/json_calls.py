"""Values taken out of JSON: one look-up for a chain of them, and casts that look at what the JSON holds."""

from __future__ import annotations

from engine import types
from engine.plan.expressions.expr import Call, Expr

_LOOKUPS = ("json_get", "json_as_text")


def along_one_path(arguments: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The arguments of a JSON function: when the JSON is itself looked up in another one, all keys in one go."""
    match arguments:
        case (Call(function, inside), *keys) if function in _LOOKUPS:
            return (*inside, *keys)
    return arguments


def part_as(part: Expr, kind: types.Type) -> Expr:
    """A part of JSON as the value of the nearest type that is asked for: NULL where it holds something else."""
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
