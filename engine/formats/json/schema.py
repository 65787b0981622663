"""The JSON schema of a table's columns, as a registry takes it."""

from __future__ import annotations

from engine import types
from engine.formats.json.options import JsonOptions
from engine.schema import Schema


def json_schema(schema: Schema, options: JsonOptions) -> dict[str, object]:
    """An object with the columns, each of which may be null unless it is NOT NULL."""

    def kind_of(kind: types.Type) -> dict[str, object]:
        match kind:
            case types.Boolean():
                return {"type": "boolean"}
            case types.Integer() | types.Interval():
                return {"type": "integer"}
            case types.Float():
                return {"type": "number"}
            case types.Decimal():
                return {"type": "number" if options.decimal_encoding == "number" else "string"}
            case types.Timestamp():
                return (
                    {"type": "string", "format": "date-time"}
                    if options.timestamp_format == "rfc3339"
                    else {"type": "integer"}
                )
            case types.Date():
                return {"type": "string", "format": "date"}
            case types.Json():
                return {}
            case types.Array(element):
                return {"type": "array", "items": or_null(kind_of(element))}
            case types.Struct(members):
                return {"type": "object", "properties": {one.name: or_null(kind_of(one.type)) for one in members}}
        return {"type": "string"}

    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Row",
        "type": "object",
        "properties": {one.name: or_null(kind_of(one.type)) if one.nullable else kind_of(one.type) for one in schema},
        "required": [one.name for one in schema if not one.nullable],
    }


def or_null(kind: dict[str, object]) -> dict[str, object]:
    """The same, or null."""
    return {"oneOf": [{"type": "null"}, kind]} if kind else {}
