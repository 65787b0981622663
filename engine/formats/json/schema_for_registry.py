"""JSON schema of a table's columns, for a schema registry."""

from __future__ import annotations

from engine import types
from engine.formats.json.options import JsonOptions
from engine.schema import Schema


def json_schema(schema: Schema, options: JsonOptions) -> dict[str, object]:
    """An object with the columns, each of which may be null unless it is NOT NULL."""
    columns = {field.name: _json_type(field.type, options) for field in schema}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Row",
        "type": "object",
        "properties": {
            field.name: _or_null(columns[field.name]) if field.nullable else columns[field.name] for field in schema
        },
        "required": [field.name for field in schema if not field.nullable],
    }


def _json_type(kind: types.Type, options: JsonOptions) -> dict[str, object]:
    match kind:
        case types.Boolean():
            return {"type": "boolean"}
        case types.Integer() | types.Interval():
            return {"type": "integer"}
        case types.Float():
            return {"type": "number"} if options.non_finite == "null" else {"type": ["number", "string"]}
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
            return {"type": "array", "items": _or_null(_json_type(element, options))}
        case types.Struct(members):
            return {
                "type": "object",
                "properties": {member.name: _or_null(_json_type(member.type, options)) for member in members},
            }
    return {"type": "string"}


def _or_null(kind: dict[str, object]) -> dict[str, object]:
    return {"oneOf": [{"type": "null"}, kind]} if kind else {}
