"""Functions of arrays and structs in Spark SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine import types
from engine.plan.expressions.expr import Call, Literal
from engine.spark.printers import Form
from engine.spark.printers.casts import ITEM, cast_to_sql
from engine.spark.printers.literals import text_to_sql, type_to_sql

_MOST = 2_147_483_647


def _empty(kind: types.Type) -> str:
    return f"CAST(array() AS {type_to_sql(kind)})"


def _present(value: str, kind: types.Type) -> str:
    return f"coalesce({value}, {_empty(kind)})"


def _append(call: Call, arguments: Sequence[str]) -> str:
    return f"concat({_present(arguments[0], call.type)}, array({arguments[1]}))"


def _prepend(call: Call, arguments: Sequence[str]) -> str:
    return f"concat(array({arguments[0]}), {_present(arguments[1], call.type)})"


def _concat(call: Call, arguments: Sequence[str]) -> str:
    if len(arguments) == 1:
        return arguments[0]
    parts = ", ".join(_present(argument, call.type) for argument in arguments)
    return f"(CASE WHEN coalesce({', '.join(arguments)}) IS NOT NULL THEN concat({parts}) END)"


def _element(call: Call, arguments: Sequence[str]) -> str:
    array, position = arguments
    match call.arguments[1]:
        case Literal(int(number)) if 0 < number <= _MOST:
            return f"get({array}, {number - 1})"
    # Spark computes the branch that is not taken too, when both are constants
    after = f"CAST(least(greatest({position}, 1L), {_MOST}L) - 1L AS INT)"
    before = f"CAST(greatest(size({array}) + least({position}, 0L), -1L) AS INT)"
    return f"(CASE WHEN {position} > 0 THEN get({array}, {after}) WHEN {position} < 0 THEN get({array}, {before}) END)"


def _trim(_: Call, arguments: Sequence[str]) -> str:
    array, count = arguments
    return f"slice({array}, 1, CAST(greatest(size({array}) - {count}, 0L) AS INT))"


def _sort(call: Call, arguments: Sequence[str]) -> str:
    words = [str(option.value).lower() for option in call.arguments[1:] if isinstance(option, Literal)]
    descending, nulls_last = "desc" in words, "nulls last" in words
    if nulls_last:
        return f"sort_array({arguments[0]}, false)" if descending else f"array_sort({arguments[0]})"
    return f"reverse(array_sort({arguments[0]}))" if descending else f"sort_array({arguments[0]})"


def _flatten(call: Call, arguments: Sequence[str]) -> str:
    match call.arguments[0].type:
        case types.Array(types.Array()):
            return f"flatten(filter({arguments[0]}, {ITEM} -> {ITEM} IS NOT NULL))"
    return arguments[0]


def _join(call: Call, arguments: Sequence[str]) -> str:
    array, kind = arguments[0], call.arguments[0].type
    while isinstance(kind, types.Array) and isinstance(kind.element, types.Array):
        array, kind = f"flatten(filter({array}, {ITEM} -> {ITEM} IS NOT NULL))", kind.element
    assert isinstance(kind, types.Array)
    if kind.element != types.TEXT:
        array = f"transform({array}, {ITEM} -> {cast_to_sql(ITEM, kind.element, types.TEXT)})"
    return f"array_join({', '.join([array, *arguments[1:]])})"


def _lengths(array: str, kind: types.Type) -> list[str]:
    """Return the length of the array, and that of the first element of each level inside."""
    lengths = []
    while isinstance(kind, types.Array):
        lengths.append(f"CAST(array_size({array}) AS BIGINT)")
        array, kind = f"get({array}, 0)", kind.element
    return lengths


def _length(call: Call, arguments: Sequence[str]) -> str:
    lengths = _lengths(arguments[0], call.arguments[0].type)
    match call.arguments[1:]:
        case []:
            return lengths[0]
        case [Literal(int(dimension))] if 1 <= dimension <= len(lengths):
            return lengths[dimension - 1]
    return "CAST(NULL AS BIGINT)"


def _dims(call: Call, arguments: Sequence[str]) -> str:
    array = arguments[0]
    return f"(CASE WHEN size({array}) > 0 THEN array({', '.join(_lengths(array, call.arguments[0].type))}) END)"


def _cardinality(call: Call, arguments: Sequence[str]) -> str:
    return f"nullif({' * '.join(_lengths(arguments[0], call.arguments[0].type))}, 0L)"


def _depth(call: Call, arguments: Sequence[str]) -> str:
    depth = len(_lengths("", call.arguments[0].type))
    return f"(CASE WHEN {arguments[0]} IS NOT NULL THEN {depth}L END)"


def _except(call: Call, arguments: Sequence[str]) -> str:
    return f"array_except({arguments[0]}, {_present(arguments[1], call.type)})"


def _struct(call: Call, arguments: Sequence[str]) -> str:
    assert isinstance(call.type, types.Struct)
    members = zip(call.type.members, arguments, strict=True)
    return f"named_struct({', '.join(f'{text_to_sql(member.name)}, {value}' for member, value in members)})"


ARRAYS: Mapping[str, Form] = {
    "make_array": lambda _, arguments: f"array({', '.join(arguments)})",
    "array_element": _element,
    "array_append": _append,
    "array_prepend": _prepend,
    "array_concat": _concat,
    "array_pop_front": "slice({0}, 2, greatest(size({0}) - 1, 0))",
    "array_pop_back": "slice({0}, 1, greatest(size({0}) - 1, 0))",
    "trim_array": _trim,
    "array_repeat": f"array_repeat({{0}}, CAST(greatest(least({{1}}, {_MOST}L), 0L) AS INT))",
    "array_fill": "array_repeat({0}, size({1}))",
    "array_has": "(CASE WHEN {1} IS NOT NULL THEN array_contains(array_compact({0}), {1}) END)",
    "array_has_all": "(size(array_except({1}, {0})) = 0)",
    "array_has_any": "(size(array_intersect({0}, {1})) > 0)",
    "array_reverse": "reverse({0})",
    "array_sort": _sort,
    "array_distinct": "sort_array(array_distinct({0}))",
    "array_union": "sort_array(array_union({0}, {1}))",
    "array_intersect": "sort_array(array_intersect({0}, {1}))",
    "array_except": _except,
    "flatten": _flatten,
    "array_to_string": _join,
    "array_length": _length,
    "array_ndims": _depth,
    "array_dims": _dims,
    "cardinality": _cardinality,
    "empty": "(size({0}) = 0)",
    "array_any_value": "get(array_compact({0}), 0)",
    "struct": _struct,
}
