"""JSON functions. Invalid JSON has no values and causes no error."""

from __future__ import annotations

from collections.abc import Sequence

from engine.functions.base import ANY_CONSTANT, Function, Resolve, Signature, always, never
from engine.functions.parsers.json_path import read_path
from engine.types import BIGINT, BOOLEAN, DOUBLE, JSON, JSON_PART, TEXT, Array, Integer, Json, Null, Text, Type


def _document(kind: Type) -> Type | None:
    return kind if isinstance(kind, Json) else TEXT if isinstance(kind, Text | Null) else None


def _key(kind: Type) -> Type | None:
    return BIGINT if isinstance(kind, Integer) else TEXT if isinstance(kind, Text | Null) else None


def _along(result: Type, least: int = 0) -> Resolve:
    """Accept JSON, then the keys of objects and the indexes of arrays that lead to the value."""

    def resolve(arguments: Sequence[Type]) -> Signature | None:
        if len(arguments) <= least:
            return None
        targets = [_document(arguments[0]), *map(_key, arguments[1:])]
        kinds = tuple(target for target in targets if target is not None)
        return Signature(kinds, result) if len(kinds) == len(targets) else None

    return resolve


def _at_path(result: Type) -> Resolve:
    def resolve(arguments: Sequence[Type]) -> Signature | None:
        if len(arguments) != 2 or not isinstance(arguments[1], Text):
            return None
        document = _document(arguments[0])
        return None if document is None else Signature((document, TEXT), result)

    return resolve


def _is_path(text: str) -> bool:
    return read_path(text) is not None


def _json(name: str, usage: str, doc: str, resolve: Resolve, *aliases: str) -> Function:
    return Function(name, "json", usage, doc, resolve, aliases, always, is_computed=True)


def _path(name: str, doc: str, result: Type) -> Function:
    usage = f"{name}(json, path)"
    choices = {1: ANY_CONSTANT}
    return Function(
        name,
        "json",
        usage,
        doc,
        _at_path(result),
        nullable=always,
        choices=choices,
        checks={1: _is_path},
        is_computed=True,
    )


_KEYS = "json [, key or index, ...]"

JSON_FUNCTIONS = (
    _json(
        "json_get",
        f"json_get({_KEYS})",
        "The value at that place, as JSON: `json -> key`. A cast to BOOLEAN, a number or TEXT gives NULL for one of "
        "another kind; in a sink it is text, `null` where there is none.",
        _along(JSON_PART),
        "->",
    ),
    _json("json_get_str", f"json_get_str({_KEYS})", "The text at that place; NULL for anything else.", _along(TEXT)),
    _json(
        "json_get_int",
        f"json_get_int({_KEYS})",
        "The whole number at that place; NULL for anything else, and for what does not fit into BIGINT.",
        _along(BIGINT),
    ),
    _json(
        "json_get_float",
        f"json_get_float({_KEYS})",
        "The number at that place; NULL for anything else.",
        _along(DOUBLE),
    ),
    _json(
        "json_get_bool",
        f"json_get_bool({_KEYS})",
        "The boolean at that place; NULL for anything else.",
        _along(BOOLEAN),
    ),
    _json(
        "json_get_json",
        f"json_get_json({_KEYS})",
        "The value at that place as it is written there; NULL where there is none.",
        _along(JSON),
    ),
    _json(
        "json_as_text",
        f"json_as_text({_KEYS})",
        "The value at that place as text, without quotes: `json ->> key`; NULL for a null and where there is none.",
        _along(TEXT),
        "->>",
    ),
    _json(
        "json_length",
        f"json_length({_KEYS})",
        "How many elements or members the value at that place has; NULL where there is no array or object.",
        _along(BIGINT),
        "json_len",
    ),
    Function(
        "json_contains",
        "json",
        "json_contains(json, key or index, ...)",
        "Whether there is a value at that place, even a null: `json ? key`; never NULL.",
        _along(BOOLEAN, least=1),
        ("?",),
        never,
        is_computed=True,
    ),
    _path(
        "extract_json",
        "All values that a JSONPath finds, each as JSON text; NULL when the text is not JSON.",
        Array(TEXT),
    ),
    _path("extract_json_string", "The first value that a JSONPath finds, when it is text; else NULL.", TEXT),
    _path("json_value", "The first value that a JSONPath finds, as plain text; NULL unless it is scalar.", TEXT),
    _path("json_query", "The first value that a JSONPath finds, as JSON; NULL unless it is an object or array.", TEXT),
    _path(
        "get_json_object",
        "The first value of a JSONPath: text without quotes, all else as JSON; NULL without any.",
        TEXT,
    ),
    _path("json_exists", "Whether a JSONPath finds a value; NULL when the text is not JSON.", BOOLEAN),
    _json(
        "json_object_keys",
        f"json_object_keys({_KEYS})",
        "The names of the members of the object at that place; NULL where there is none.",
        _along(Array(TEXT)),
    ),
    _path("get_first_json_object", "The first value that a JSONPath finds, as JSON text; NULL without any.", TEXT),
)
