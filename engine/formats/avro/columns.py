"""Columns of an Avro schema."""

from __future__ import annotations

from typing import Any

from engine import types
from engine.formats.avro.schema import parse_schema
from engine.schema import Field

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
