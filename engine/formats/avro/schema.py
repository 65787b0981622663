"""Avro schemas: that of a table's columns, and those of other writers.

The columns `n BIGINT NOT NULL, t TEXT` give

    {"type": "record", "name": "Row", "fields": [
        {"name": "n", "type": "long"}, {"name": "t", "type": ["null", "string"], "default": null}]}

A STRUCT becomes a record of its own, named Row1, Row2 and so on, since names are unique in Avro.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any, TypeAlias

from engine import types
from engine.errors import MissingPackageError, OptionValueError, message_of
from engine.schema import Schema

try:
    import fastavro
except ImportError as missing:
    raise MissingPackageError(
        "format 'avro' needs the Python package fastavro", hint="pip install 'airflow-provider-arroyo[avro]'"
    ) from missing

__all__ = ["avro_schema", "fastavro", "missing_registry", "parse_schema"]

AvroType: TypeAlias = "str | dict[str, object] | list[AvroType]"


def avro_schema(schema: Schema, name: str = "Row") -> dict[str, object]:
    """Return a record with the columns in order, each of which may be null unless it is NOT NULL."""
    names = (f"{name}{number}" for number in count(1))
    return _record(name, [(field.name, field.type, field.nullable) for field in schema], names)


def parse_schema(text: str) -> Any:
    """Parse a schema for fastavro; raise if the text is invalid."""
    try:
        return fastavro.parse_schema(json.loads(text))
    except (ValueError, TypeError, KeyError, fastavro.schema.SchemaParseException) as error:
        raise OptionValueError(
            f"the Avro schema is not valid: {message_of(error)}", hint="see 'avro.schema' or the registry"
        ) from error


def missing_registry() -> OptionValueError:
    """Return the error for a table whose records need a registry and have none."""
    return OptionValueError(
        "'avro.confluent_schema_registry' needs a schema registry", hint="set 'schema_registry.endpoint'"
    )


def _record(name: str, fields: list[tuple[str, types.Type, bool]], names: Iterator[str]) -> dict[str, object]:
    parts = [
        {"name": field, "type": ["null", _avro_type(kind, names)], "default": None}
        if nullable
        else {"name": field, "type": _avro_type(kind, names)}
        for field, kind, nullable in fields
    ]
    return {"type": "record", "name": name, "fields": parts}


def _avro_type(kind: types.Type, names: Iterator[str]) -> AvroType:
    match kind:
        case types.Boolean():
            return "boolean"
        case types.Integer():
            return "int" if kind.held_bits <= 32 else "long"
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
            return {"type": "array", "items": ["null", _avro_type(element, names)]}
        case types.Struct(members):
            return _record(next(names), [(member.name, member.type, True) for member in members], names)
    return "string"
