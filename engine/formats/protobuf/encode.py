"""Encode rows as Protobuf messages.

Map columns to fields of a message, and convert their values.

The columns `id BIGINT, price DECIMAL(9, 2), at TIMESTAMP, tags TEXT[]` and the message

    message Order { int64 ID = 1; string price = 2; google.protobuf.Timestamp at = 3; repeated string tags = 4; }

    fields_of     ID: unchanged    price: "{:f}".format    at: to seconds and nanos    tags: a list without NULL
    set_fields    7, 1.50, 2023-10-09T12:00Z, NULL  to  {"ID": 7, "price": "1.50", "at": {"seconds": ..., "nanos": 0}}

A column that no field can hold without loss is refused when the table is declared.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import pyarrow as pa

from engine import types
from engine.errors import InvalidValueError, OptionValueError, message_of
from engine.formats.protobuf.messages import (
    LENGTH,
    TIME,
    WRAPPERS,
    FieldDescriptor,
    ProtobufOptions,
    is_map,
    message,
    message_class,
    type_name,
)
from engine.formats.schema_registry import Subject, header
from engine.schema import Schema


class ProtobufEncoder:
    """Encodes messages of one type. NULL is an unset field."""

    def __init__(self, options: ProtobufOptions, schema: Schema, subject: Subject | None) -> None:
        self._options = options
        self._make = message_class(options)
        self._fields = fields_of(self._make.DESCRIPTOR, [(field.name, field.type) for field in schema])
        self._header = b""
        if options.confluent_schema_registry and subject is not None:
            self._header = _registered(self._make.DESCRIPTOR, subject)

    def encode_lines(self, rows: pa.RecordBatch) -> bytes:
        """Raise: Protobuf is binary and has no lines."""
        raise TypeError("Protobuf has no lines")

    def encode_messages(self, rows: pa.RecordBatch) -> pa.BinaryArray:
        """Return one payload per row."""
        columns = [column.to_pylist() for column in rows.columns]
        return pa.array([self._payload(row) for row in zip(*columns, strict=True)], pa.binary())

    def _payload(self, row: Sequence[Any]) -> bytes:
        row_message = self._make(**set_fields(self._fields, row))
        try:
            body = bytes(row_message.SerializeToString())
        except message.EncodeError as error:
            raise InvalidValueError(
                f"a row is not a message {self._options.message}: {message_of(error)}",
                hint="give each required field a value",
            ) from error
        return self._header + (_varint(len(body)) if self._options.length_delimited else b"") + body


def _registered(kind: Any, subject: Subject) -> bytes:
    """Return the bytes before each message: the number of its schema, and the path of the message in its file."""
    foreign = [file.name for file in kind.file.dependencies if not file.name.startswith("google/protobuf/")]
    if foreign:
        raise OptionValueError(
            f"{kind.file.name} imports {', '.join(foreign)}, but only a single file can be registered",
            hint="put the messages into one file, or write without 'protobuf.confluent_schema_registry'",
        )
    text = b64encode(kind.file.serialized_pb).decode()
    path = _path(kind)
    # The first message of a file, by far the most common, is written as a single zero.
    encoded = b"\0" if path == [0] else b"".join(_varint(number << 1) for number in (len(path), *path))
    return header(subject.registry.register(subject.name, "PROTOBUF", text)) + encoded


def _path(kind: Any) -> list[int]:
    if kind.containing_type is None:
        return [list(kind.file.message_types_by_name).index(kind.name)]
    return [*_path(kind.containing_type), list(kind.containing_type.nested_types_by_name).index(kind.name)]


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


Shape: TypeAlias = Callable[[Any], Any]
"""Converts a column's value, which is not NULL, to a field's value."""
Fields: TypeAlias = Sequence[tuple[Any, Shape]]
"""The field of each column, in their order."""

_SIGNED = {
    FieldDescriptor.TYPE_INT32: 32,
    FieldDescriptor.TYPE_SINT32: 32,
    FieldDescriptor.TYPE_SFIXED32: 32,
    FieldDescriptor.TYPE_INT64: 64,
    FieldDescriptor.TYPE_SINT64: 64,
    FieldDescriptor.TYPE_SFIXED64: 64,
}
_UNSIGNED = {
    FieldDescriptor.TYPE_UINT32: 32,
    FieldDescriptor.TYPE_FIXED32: 32,
    FieldDescriptor.TYPE_UINT64: 64,
    FieldDescriptor.TYPE_FIXED64: 64,
}
_FLOATS = {FieldDescriptor.TYPE_FLOAT: 32, FieldDescriptor.TYPE_DOUBLE: 64}
_EPOCH = datetime.fromtimestamp(0, UTC)
_MICROSECOND = timedelta(microseconds=1)


def fields_of(kind: Any, columns: Iterable[tuple[str, types.Type]]) -> Fields:
    """Return the field of each column, and the conversion of its values. Raise OptionValueError if there is none."""
    by_name = {field.name.lower(): field for field in kind.fields} | {field.name: field for field in kind.fields}
    fields = []
    for name, column in columns:
        field = by_name.get(name) or by_name.get(name.lower())
        if field is None:
            raise OptionValueError(
                f"message {kind.full_name} has no field for column {name!r}",
                hint=f"it has {', '.join(declared.name for declared in kind.fields)}",
            )
        shape = _shape(field, column)
        if shape is None:
            raise OptionValueError(
                f"field {field.name!r} of message {kind.full_name} cannot hold {column}",
                hint=f"cast the column: the field is {_shown(field)}",
            )
        fields.append((field, shape))
    return fields


def set_fields(fields: Fields, values: Iterable[Any]) -> dict[str, Any]:
    """Return the values of a message, by field. Raise InvalidValueError if no message can hold a value."""
    chosen: dict[str, str] = {}
    settings = {}
    for (field, shape), value in zip(fields, values, strict=True):
        if value is None:
            continue
        if field.containing_oneof is not None:
            other = chosen.setdefault(field.containing_oneof.name, field.name)
            if other != field.name:
                raise InvalidValueError(
                    f"fields {other!r} and {field.name!r} cannot both have a value: a message holds one of them",
                    hint="make all but one of them NULL",
                )
        settings[field.name] = shape(value)
    return settings


def _shape(field: Any, column: types.Type) -> Shape | None:
    if is_map(field):
        return None
    if not field.is_repeated:
        return _shape_of_value(field, column)
    if not isinstance(column, types.Array):
        return None
    element = _shape_of_value(field, column.element)
    return None if element is None else _list_of(field, element)


def _shape_of_value(field: Any, column: types.Type) -> Shape | None:
    if field.message_type is not None:
        return _shape_of_message(field.message_type, column)
    if isinstance(column, types.Text) and field.type == FieldDescriptor.TYPE_ENUM:
        return _number_in(field.enum_type)
    return _shape_of_scalar(field.type, column)


def _shape_of_scalar(kind: int, column: types.Type) -> Shape | None:
    match column:
        case types.Boolean() if kind == FieldDescriptor.TYPE_BOOL:
            return _same
        case types.Integer(bits, signed) if bits + (not signed and bits < 64) <= _SIGNED.get(kind, 0):
            return _same  # one of 64 bits without a sign is held in 63
        case types.Integer(bits, False) if bits <= _UNSIGNED.get(kind, 0):
            return _same
        case types.Float(bits) if bits <= _FLOATS.get(kind, 0):
            return _same
        case types.Text() | types.Json() if kind == FieldDescriptor.TYPE_STRING:
            return _same
        case types.Decimal() if kind == FieldDescriptor.TYPE_STRING:
            return "{:f}".format
        case types.Bytes() if kind == FieldDescriptor.TYPE_BYTES:
            return _same
        case types.Timestamp() if _SIGNED.get(kind) == 64:
            return lambda at: (at - _EPOCH) // _MICROSECOND
        case types.Interval() if _SIGNED.get(kind) == 64:
            return lambda length: length // _MICROSECOND
    return None


def _shape_of_message(kind: Any, column: types.Type) -> Shape | None:
    if kind.full_name in WRAPPERS:
        inner = _shape_of_value(kind.fields_by_name["value"], column)
        return None if inner is None else lambda value: {"value": inner(value)}
    match column:
        case types.Timestamp() if kind.full_name == TIME:
            return lambda at: _seconds(at - _EPOCH)
        case types.Interval() if kind.full_name == LENGTH:
            return _length
        case types.Struct(members):
            fields = fields_of(kind, [(member.name, member.type) for member in members])
            return lambda struct: set_fields(fields, (struct[member.name] for member in members))
    return None


def _same(value: Any) -> Any:
    return value


def _list_of(field: Any, shape: Shape) -> Shape:
    def shaped(values: Sequence[Any]) -> list[Any]:
        if any(value is None for value in values):
            raise InvalidValueError(
                f"the list for field {field.name!r} contains NULL, which a message cannot hold",
                hint="remove NULLs from the list",
            )
        return [shape(value) for value in values]

    return shaped


def _number_in(kind: Any) -> Shape:
    numbers: Mapping[str, int] = {value.name: value.number for value in kind.values}

    def number(name: str) -> int:
        if name not in numbers:
            raise InvalidValueError(f"enum {kind.full_name} has no value {name!r}", hint=f"it has {', '.join(numbers)}")
        return numbers[name]

    return number


def _seconds(length: timedelta) -> dict[str, int]:
    seconds, fraction = divmod(length, timedelta(seconds=1))
    return {"seconds": seconds, "nanos": fraction // _MICROSECOND * 1000}


def _length(length: timedelta) -> dict[str, int]:
    """Return a Duration. Both parts have the sign of the whole."""
    parts = _seconds(abs(length))
    return parts if length >= timedelta(0) else {name: -part for name, part in parts.items()}


def _shown(field: Any) -> str:
    if is_map(field):
        return "a map, which no column type fits"
    if field.message_type is not None:
        name = field.message_type.full_name
    elif field.enum_type is not None:
        name = f"{field.enum_type.full_name}, whose values are written as TEXT"
    else:
        name = type_name(field.type)
    return f"repeated {name}" if field.is_repeated else name
