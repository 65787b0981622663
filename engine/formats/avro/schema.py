"""The Avro schema of a table's columns."""

from __future__ import annotations

from itertools import count
from typing import TypeAlias

from engine import types
from engine.schema import Schema

AvroType: TypeAlias = "str | dict[str, object] | list[AvroType]"


def avro_schema(schema: Schema, name: str = "Row") -> dict[str, object]:
    """A record with the columns in order, each of which may be null unless it is NOT NULL."""
    numbers = count(1)

    def kind_of(kind: types.Type) -> AvroType:
        match kind:
            case types.Boolean():
                return "boolean"
            case types.Integer(bits, signed):
                return "int" if bits < 32 or (bits == 32 and signed) else "long"
            case types.Float(bits):
                return "float" if bits == 32 else "double"
            case types.Decimal(precision, scale):
                return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
            case types.Bytes():
                return "bytes"
            case types.Timestamp():
                return {"type": "long", "logicalType": "timestamp-micros"}
            case types.Date():
                return {"type": "int", "logicalType": "date"}
            case types.Interval():
                return "long"
            case types.Array(element):
                return {"type": "array", "items": ["null", kind_of(element)]}
            case types.Struct(members):
                return record(f"{name}{next(numbers)}", [(one.name, one.type, True) for one in members])
        return "string"

    def record(called: str, fields: list[tuple[str, types.Type, bool]]) -> dict[str, object]:
        parts = [
            {"name": field, "type": ["null", kind_of(kind)], "default": None}
            if nullable
            else {"name": field, "type": kind_of(kind)}
            for field, kind, nullable in fields
        ]
        return {"type": "record", "name": called, "fields": parts}

    return record(name, [(field.name, field.type, field.nullable) for field in schema])
