"""JSON functions over Arrow. A value is extracted without parsing the text around it, and keeps its spelling."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import TypeAlias

import msgspec
import pyarrow as pa

from engine import types
from engine.arrow.functions.kernel import Kernel
from engine.functions.parsers.json_path import read_path

Key: TypeAlias = str | int
Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"

_VALUE = msgspec.json.Decoder(msgspec.Raw)
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
_TEXT = msgspec.json.Decoder(str)
_ANY = msgspec.json.Decoder()


def _find(text: str | None, keys: Iterable[Key | None]) -> bytes | None:
    """Return the JSON text of the value at the keys; None if there is none, or if the text is no JSON."""
    if text is None:
        return None
    try:
        raw = _VALUE.decode(text)
        for key in keys:
            if isinstance(key, str):
                raw = _OBJECT.decode(raw)[key]
            elif key is None or key < 0:
                return None
            else:
                raw = _ARRAY.decode(raw)[key]
    except (msgspec.DecodeError, LookupError, UnicodeError, RecursionError):
        return None
    return bytes(raw)


def _as_part(raw: bytes) -> str | None:
    """Return the JSON text of a value, where a fraction is spelt without exponent and trailing zeros."""
    if raw[:1] in b"0123456789-" and any(mark in raw for mark in b".eE"):
        number = float(raw)
        return f"{Decimal(repr(number)):f}".removesuffix(".0") if math.isfinite(number) else raw.decode()
    return raw.decode()


def _as_text(raw: bytes) -> str | None:
    if raw == b"null":
        return None
    return _as_string(raw) if raw[:1] == b'"' else raw.decode()


def _as_string(raw: bytes) -> str | None:
    return _TEXT.decode(raw) if raw[:1] == b'"' else None


def _as_int(raw: bytes) -> int | None:
    value = _ANY.decode(raw) if raw[:1] in b"0123456789-" else None
    return value if isinstance(value, int) and types.BIGINT.holds(value) else None


def _as_float(raw: bytes) -> float | None:
    return float(raw) if raw[:1] in b"0123456789-" else None


def _as_bool(raw: bytes) -> bool | None:
    return {b"true": True, b"false": False}.get(raw)


def _length(raw: bytes) -> int | None:
    match raw[:1]:
        case b"[":
            return len(_ARRAY.decode(raw))
        case b"{":
            return len(_OBJECT.decode(raw))
    return None


def _getter(convert: Callable[[bytes], object], kind: pa.DataType) -> Kernel:
    def compute(texts: pa.Array, *keys: pa.Array) -> pa.Array:
        paths = zip(*(column.to_pylist() for column in keys), strict=True) if keys else ((),) * len(texts)
        parts = map(_find, texts.to_pylist(), paths)
        return pa.array([None if raw is None else _convert(convert, raw) for raw in parts], kind)

    return compute


def _convert(convert: Callable[[bytes], object], raw: bytes) -> object:
    try:
        return convert(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _contains(texts: pa.Array, *keys: pa.Array) -> pa.Array:
    paths = zip(*(column.to_pylist() for column in keys), strict=True)
    return pa.array([raw is not None for raw in map(_find, texts.to_pylist(), paths)], pa.bool_())


def _query_kernel(convert: Callable[[list[Json]], object], kind: pa.DataType) -> Kernel:
    """Return a kernel over what a path finds, from the first to the last."""

    def compute(texts: pa.Array, paths: pa.Array) -> pa.Array:
        pairs = zip(texts.to_pylist(), paths.to_pylist(), strict=True)
        return pa.array([_query(text, path, convert) for text, path in pairs], kind)

    return compute


def _query(text: str | None, path: str | None, convert: Callable[[list[Json]], object]) -> object:
    query = None if path is None else read_path(path)
    if text is None or query is None:
        return None
    try:
        return convert(query(_ANY.decode(text)))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _encode(value: Json) -> str:
    return msgspec.json.encode(value).decode()


def _first_string(values: list[Json]) -> str | None:
    return values[0] if values and isinstance(values[0], str) else None


def _first_scalar(values: list[Json]) -> str | None:
    value = values[0] if values else None
    return None if isinstance(value, dict | list) else _unquoted(value)


def _first_structure(values: list[Json]) -> str | None:
    return _encode(values[0]) if values and isinstance(values[0], dict | list) else None


def _unquoted(value: Json) -> str | None:
    return value if value is None or isinstance(value, str) else _encode(value)


def _keys_of(raw: bytes) -> list[str] | None:
    return list(_OBJECT.decode(raw)) if raw[:1] == b"{" else None


JSON_KERNELS: Mapping[str, Kernel] = {
    "json_get": _getter(_as_part, pa.string()),
    "json_get_str": _getter(_as_string, pa.string()),
    "json_get_int": _getter(_as_int, pa.int64()),
    "json_get_float": _getter(_as_float, pa.float64()),
    "json_get_bool": _getter(_as_bool, pa.bool_()),
    "json_get_json": _getter(bytes.decode, pa.string()),
    "json_as_text": _getter(_as_text, pa.string()),
    "json_length": _getter(_length, pa.int64()),
    "json_contains": _contains,
    "json_value": _query_kernel(_first_scalar, pa.string()),
    "json_query": _query_kernel(_first_structure, pa.string()),
    "json_exists": _query_kernel(bool, pa.bool_()),
    "json_object_keys": _getter(_keys_of, pa.list_(pa.string())),
    "get_json_object": _query_kernel(lambda values: _unquoted(values[0]) if values else None, pa.string()),
    "extract_json": _query_kernel(lambda values: [_encode(value) for value in values], pa.list_(pa.string())),
    "extract_json_string": _query_kernel(_first_string, pa.string()),
    "get_first_json_object": _query_kernel(lambda values: _encode(values[0]) if values else None, pa.string()),
}
