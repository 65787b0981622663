"""Array functions. Positions count from one, and from the end if negative. Two NULLs are the same element."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from engine.functions.base import ANY_CONSTANT, Function, Resolve, Signature, always, first_of, never, takes, whole
from engine.functions.coercion import can_cast, common_type, common_type_of
from engine.types import BIGINT, BOOLEAN, TEXT, TIMESTAMP, Array, Date, Interval, Null, Struct, Type

Part: TypeAlias = Literal["array", "element", "number", "text"]
_ORDERS = frozenset({"asc", "desc"})
_NULLS = frozenset({"nulls first", "nulls last"})


def _arrays_and_elements(*parts: Part, result: Type | Callable[[Type], Type] = Array, optional: int = 0) -> Resolve:
    """Accept arguments by position if all arrays and elements have a common element type; the result is an array of it
    by default."""

    def resolve(arguments: Sequence[Type]) -> Signature | None:
        if not len(parts) - optional <= len(arguments) <= len(parts):
            return None
        pairs = list(zip(parts, arguments, strict=False))
        if any(part == "array" and not isinstance(kind, Array) for part, kind in pairs):
            return None
        element = common_type_of([_element(kind) if part == "array" else kind for part, kind in pairs if _counts(part)])
        targets = [_target(part, kind, element) for part, kind in pairs]
        kinds = tuple(target for target in targets if target is not None)
        if element is None or len(kinds) < len(targets):
            return None
        return Signature(kinds, result if isinstance(result, Type) else result(element))

    return resolve


def _counts(part: Part) -> bool:
    return part in ("array", "element")


def _element(kind: Type) -> Type:
    return kind.element if isinstance(kind, Array) else kind


def _target(part: Part, kind: Type, element: Type | None) -> Type | None:
    match part:
        case "array":
            return None if element is None else Array(element)
        case "element":
            return element
        case "number":
            return whole(kind)
        case "text":
            return TEXT if common_type(kind, TEXT) == TEXT else None


def _several(arguments: Sequence[Type]) -> Signature | None:
    arrays = [kind for kind in arguments if isinstance(kind, Array)]
    element = common_type_of([kind.element for kind in arrays])
    if not arrays or len(arrays) < len(arguments) or element is None:
        return None
    return Signature((Array(element),) * len(arguments), Array(element))


def _from_elements(arguments: Sequence[Type]) -> Signature | None:
    element = common_type_of(arguments) if arguments else Null()
    return None if element is None else Signature((element,) * len(arguments), Array(element))


def _flat_array(arguments: Sequence[Type]) -> Signature | None:
    match arguments:
        case [Array(Array() as inner) as array]:
            return Signature((array,), inner)
        case [Array() as array]:
            return Signature((array,), array)
    return None


def _array_and_texts(arguments: Sequence[Type]) -> Signature | None:
    """Return an array whose elements, or theirs, can be written as text."""
    match arguments:
        case [Array() as array, *texts] if 1 <= len(texts) <= 2 and all(
            common_type(text, TEXT) == TEXT for text in texts
        ):
            innermost: Type = array
            while isinstance(innermost, Array):
                innermost = innermost.element
            if not isinstance(innermost, Struct) and can_cast(innermost, TEXT):
                return Signature((array, *[TEXT] * len(texts)), TEXT)
    return None


def _series(kind: Type) -> Resolve:
    def resolve(arguments: Sequence[Type]) -> Signature | None:
        match arguments:
            case [first, last, Interval() as step] if isinstance(first, type(kind)) and isinstance(last, type(kind)):
                return Signature((kind, kind, step), Array(kind))
        return None

    return resolve


_SERIES = first_of(takes(whole, whole, whole, result=Array(BIGINT), optional=2), _series(Date()), _series(TIMESTAMP))
_SPLIT = takes(TEXT, TEXT, TEXT, result=Array(TEXT), optional=1)
_ONE = _arrays_and_elements("array")
_BOTH = _arrays_and_elements("array", "array")
_COUNT: Resolve = _arrays_and_elements("array", result=BIGINT)
_EXTREME = _arrays_and_elements("array", result=lambda element: element)


def _array(
    name: str,
    usage: str,
    doc: str,
    resolve: Resolve,
    *aliases: str,
    nullable: Callable[[Iterable[bool]], bool] = any,
    is_computed: bool = False,
) -> Function:
    """Return a function; a name that begins with `array_` also has a spelling with `list_`."""
    spellings = [name, *aliases]
    lists = [f"list_{spelling.removeprefix('array_')}" for spelling in spellings if spelling.startswith("array_")]
    other_names = tuple(spelling for spelling in (*aliases, *lists) if spelling != name)
    return Function(name, "array", usage, doc, resolve, other_names, nullable, is_computed=is_computed)


ARRAY_FUNCTIONS = (
    _array(
        "make_array",
        "make_array(value, ...)",
        "`[value, ...]`; never NULL.",
        _from_elements,
        "make_list",
        nullable=never,
    ),
    _array(
        "array_element",
        "array[n]",
        "The `n`-th element, from the end when negative; NULL where there is none.",
        _arrays_and_elements("array", "number", result=lambda element: element),
        "array_extract",
        nullable=always,
    ),
    _array(
        "array_slice",
        "array[from:to[:step]]",
        "The elements from one position to another, both included; NULL when an argument is.",
        _arrays_and_elements("array", "number", "number", "number", optional=1),
        is_computed=True,
    ),
    _array(
        "array_append",
        "array_append(array, value)",
        "The array with the value after it; NULL counts as an empty array.",
        _arrays_and_elements("array", "element"),
        "array_push_back",
        nullable=never,
    ),
    _array(
        "array_prepend",
        "array_prepend(value, array)",
        "The array with the value before it; NULL counts as an empty array.",
        _arrays_and_elements("element", "array"),
        "array_push_front",
        nullable=never,
    ),
    _array(
        "array_concat",
        "array_concat(array, ...)",
        "One array after the other: `a || b`; NULLs are skipped; NULL when all are.",
        _several,
        "array_cat",
        nullable=all,
    ),
    _array("array_pop_front", "array_pop_front(array)", "All but the first element; NULL for NULL.", _ONE),
    _array("array_pop_back", "array_pop_back(array)", "All but the last element; NULL for NULL.", _ONE),
    _array(
        "trim_array",
        "trim_array(array, n)",
        "The array without its last `n` elements; NULL when either is.",
        _arrays_and_elements("array", "number"),
    ),
    _array(
        "array_resize",
        "array_resize(array, size [, value])",
        "The first elements, filled up with the value or NULL; NULL when array or size is, or the size is negative.",
        _arrays_and_elements("array", "number", "element", optional=1),
        nullable=always,
        is_computed=True,
    ),
    _array(
        "array_repeat",
        "array_repeat(value, n)",
        "The value `n` times, no elements for `n` below one; NULL when `n` is.",
        _arrays_and_elements("element", "number"),
        nullable=lambda arguments: list(arguments)[1],
    ),
    _array(
        "array_fill",
        "array_fill(value, array)",
        "The value once for each element of the array; NULL when the array is.",
        _arrays_and_elements("element", "array"),
        nullable=lambda arguments: list(arguments)[1],
    ),
    _array(
        "array_has",
        "array_has(array, value)",
        "Whether the value is one of the elements; NULL when either is.",
        _arrays_and_elements("array", "element", result=BOOLEAN),
        "array_contains",
    ),
    _array(
        "array_has_all",
        "array_has_all(array, others)",
        "Whether all others are elements of the array: `a @> b`; NULL when either is.",
        _arrays_and_elements("array", "array", result=BOOLEAN),
    ),
    _array(
        "array_has_any",
        "array_has_any(array, others)",
        "Whether one of the others is an element of the array: `a && b`; NULL when either is.",
        _arrays_and_elements("array", "array", result=BOOLEAN),
        "arrays_overlap",
    ),
    _array(
        "array_position",
        "array_position(array, value [, from])",
        "The first position of the value, at or after a given one; NULL when there is none.",
        _arrays_and_elements("array", "element", "number", result=BIGINT, optional=1),
        "array_indexof",
        nullable=always,
        is_computed=True,
    ),
    _array(
        "array_positions",
        "array_positions(array, value)",
        "All positions of the value; NULL when the array is.",
        _arrays_and_elements("array", "element", result=Array(BIGINT)),
        nullable=lambda arguments: next(iter(arguments)),
        is_computed=True,
    ),
    *(
        _array(
            f"array_remove{suffix}",
            f"array_remove{suffix}(array, value{number})",
            f"The array without {occurrences} of the value; NULL when the array{' or `n`' * bool(number)} is.",
            _arrays_and_elements("array", "element", *(("number",) if number else ())),
            nullable=lambda arguments: any(list(arguments)[::2]),
            is_computed=True,
        )
        for suffix, number, occurrences in (
            ("", "", "the first occurrence"),
            ("_n", ", n", "the first `n` occurrences"),
            ("_all", "", "all occurrences"),
        )
    ),
    *(
        _array(
            f"array_replace{suffix}",
            f"array_replace{suffix}(array, old, new{number})",
            f"The array with {occurrences} of the old value replaced by the new one; NULL when the array is.",
            _arrays_and_elements("array", "element", "element", *(("number",) if number else ())),
            nullable=lambda arguments: any(list(arguments)[::3]),
            is_computed=True,
        )
        for suffix, number, occurrences in (
            ("", "", "the first occurrence"),
            ("_n", ", n", "the first `n` occurrences"),
            ("_all", "", "all occurrences"),
        )
    ),
    _array("array_reverse", "array_reverse(array)", "The elements in reverse order; NULL for NULL.", _ONE),
    replace(
        _array(
            "array_sort",
            "array_sort(array [, 'asc' or 'desc' [, 'nulls first' or 'nulls last']])",
            "The elements in order, NULLs first by default; NULL for NULL.",
            takes(
                lambda kind: kind if isinstance(kind, Array) else None,
                TEXT,
                TEXT,
                result=lambda kinds: kinds[0],
                optional=2,
            ),
        ),
        choices={1: _ORDERS, 2: _NULLS},
    ),
    _array("array_distinct", "array_distinct(array)", "Each element once, in order; NULL for NULL.", _ONE),
    _array("array_union", "array_union(a, b)", "Each element of either once, in order; NULL when either is.", _BOTH),
    _array(
        "array_intersect", "array_intersect(a, b)", "Each element of both once, in order; NULL when either is.", _BOTH
    ),
    _array(
        "array_except",
        "array_except(a, b)",
        "Each element of `a` that is not in `b`, once; NULL when `a` is.",
        _BOTH,
        nullable=lambda arguments: next(iter(arguments)),
    ),
    _array("flatten", "flatten(array)", "The elements of the arrays in the array; NULL for NULL.", _flat_array),
    _array(
        "array_to_string",
        "array_to_string(array, separator [, null])",
        "The elements as text with the separator between them, NULLs skipped or written as `null`; NULL when "
        "an argument is.",
        _array_and_texts,
        "array_join",
    ),
    _array(
        "string_to_array",
        "string_to_array(text, separator [, null])",
        "The parts between separators, NULL for those equal to the third; each character for NULL; NULL for NULL.",
        _SPLIT,
        "string_to_list",
        nullable=lambda arguments: next(iter(arguments)),
        is_computed=True,
    ),
    replace(
        _array(
            "array_length",
            "array_length(array [, dimension])",
            "The number of elements of the array, or of the first one inside it; NULL where there is none.",
            _arrays_and_elements("array", "number", result=BIGINT, optional=1),
            nullable=always,
        ),
        choices={1: ANY_CONSTANT},
    ),
    _array("array_ndims", "array_ndims(array)", "How deeply arrays are nested; NULL for NULL.", _COUNT),
    _array(
        "array_dims",
        "array_dims(array)",
        "The length of the array, of the first one inside it, and so on; NULL for NULL and without elements.",
        _arrays_and_elements("array", result=Array(BIGINT)),
        nullable=always,
    ),
    _array(
        "cardinality",
        "cardinality(array)",
        "The total number of elements of nested arrays of equal length; NULL for NULL and without elements.",
        _COUNT,
        nullable=always,
    ),
    _array(
        "empty",
        "empty(array)",
        "Whether the array has no elements; NULL for NULL.",
        _arrays_and_elements("array", result=BOOLEAN),
    ),
    _array("array_max", "array_max(array)", "The greatest element; NULL without any.", _EXTREME, nullable=always),
    _array("array_min", "array_min(array)", "The least element; NULL without any.", _EXTREME, nullable=always),
    _array(
        "array_any_value",
        "array_any_value(array)",
        "The first element that is not NULL; NULL without any.",
        _EXTREME,
        nullable=always,
    ),
    _array(
        "generate_series",
        "generate_series([first,] last [, step])",
        "The numbers, days or instants from the first to the last, both included; NULL when an argument is.",
        _SERIES,
        is_computed=True,
    ),
    _array(
        "range",
        "range([first,] end [, step])",
        "The numbers, days or instants from the first up to the end, which is not included; NULL when an argument is.",
        _SERIES,
        is_computed=True,
    ),
)
