"""SQL types for Arrow types, for files with a schema of their own."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as kinds

from engine import types


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
