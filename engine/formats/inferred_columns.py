"""Infer the columns of a table from a schema of another writer: of Arrow's, or of Avro's."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.types as kinds

from engine import types
from engine.formats.avro.schema import parse_schema
from engine.schema import Field


def from_arrow(kind: pa.DataType) -> types.Type | None:
    """Return the type of SQL that has all values of one of Arrow's; None where there is none."""
    if kinds.is_integer(kind):
        return types.Integer(kind.bit_width, signed=kinds.is_signed_integer(kind))
    if kinds.is_floating(kind):
        return types.Float(64 if kind.bit_width == 64 else 32)
    if kinds.is_decimal(kind) and kind.precision <= 38:
        return types.Decimal(kind.precision, kind.scale)
    if kinds.is_dictionary(kind):
        return from_arrow(kind.value_type)
    if kinds.is_list(kind) or kinds.is_large_list(kind):
        element = from_arrow(kind.value_type)
        return None if element is None else types.Array(element)
    if kinds.is_struct(kind):
        members = [(member.name, from_arrow(member.type)) for member in kind]
        found = tuple(types.Member(name, part) for name, part in members if part is not None)
        return types.Struct(found) if len(found) == len(members) else None
    return _simple(kind)


def _simple(kind: pa.DataType) -> types.Type | None:
    if kinds.is_boolean(kind):
        return types.BOOLEAN
    if kinds.is_string(kind) or kinds.is_large_string(kind):
        return types.TEXT
    if kinds.is_binary(kind) or kinds.is_large_binary(kind) or kinds.is_fixed_size_binary(kind):
        return types.Bytes()
    if kinds.is_timestamp(kind):
        return types.TIMESTAMP
    return types.Date() if kinds.is_date32(kind) else None


_PLAIN = {
    "boolean": types.BOOLEAN,
    "int": types.INT,
    "long": types.BIGINT,
    "float": types.Float(32),
    "double": types.DOUBLE,
    "string": types.TEXT,
    "enum": types.TEXT,
    "bytes": types.Bytes(),
    "fixed": types.Bytes(),
}
_INSTANTS = {"timestamp-millis", "timestamp-micros"}


def columns_of(text: str) -> tuple[tuple[Field, ...], tuple[str, ...]]:
    """Return the fields of the record that a schema describes, and the names of those for which there is no type."""
    parse_schema(text)
    import json  # noqa: PLC0415

    fields = json.loads(text)["fields"]
    found = [(field["name"], *_type(field["type"])) for field in fields]
    known = tuple(Field(name, kind, nullable=nullable) for name, kind, nullable in found if kind is not None)
    return known, tuple(name for name, kind, _ in found if kind is None)


def _type(schema: Any) -> tuple[types.Type | None, bool]:
    """Return the type, and whether it may be NULL."""
    if isinstance(schema, list):
        others = [part for part in schema if part != "null"]
        if len(others) != 1:
            return None, True
        return _type(others[0])[0], len(others) < len(schema)
    if isinstance(schema, str):
        return _PLAIN.get(schema), False
    match schema:
        case {"logicalType": str(logical)} if logical in _INSTANTS:
            return types.TIMESTAMP, False
        case {"logicalType": "date"}:
            return types.Date(), False
        case {"logicalType": "decimal", "precision": int(precision)} if precision <= 38:
            return types.Decimal(precision, int(schema.get("scale", 0))), False
        case {"type": "array", "items": items}:
            element = _type(items)[0]
            return None if element is None else types.Array(element), False
        case {"type": "record", "fields": fields}:
            parts = [(field["name"], _type(field["type"])[0]) for field in fields]
            members = tuple(types.Member(name, kind) for name, kind in parts if kind is not None)
            return types.Struct(members) if len(members) == len(parts) else None, False
        case {"type": kind}:
            return _type(kind)
    return None, False
