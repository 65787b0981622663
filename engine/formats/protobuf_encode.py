"""Rows to Protobuf messages."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import pyarrow as pa

from engine import types
from engine.errors import InvalidValueError, OptionValueError
from engine.formats.protobuf import ProtobufOptions
from engine.formats.protobuf_messages import (
    LENGTH,
    TIME,
    WRAPPERS,
    FieldDescriptor,
    is_map,
    message,
    message_class,
)
from engine.formats.registry import Subject, header
from engine.schema import Schema

Shape: TypeAlias = Callable[[Any], Any]
"""What makes a field's value of a column's, which is not NULL."""

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


class ProtobufEncoder:
    """Writes messages of one kind. NULL is a field that is not set."""

    def __init__(self, options: ProtobufOptions, schema: Schema, subject: Subject | None) -> None:
        self._options = options
        self._make = message_class(options)
        self._fields = _fields_of(self._make.DESCRIPTOR, [(field.name, field.type) for field in schema])
        self._header = b""
        if options.confluent_schema_registry and subject is not None:
            self._header = _registered(self._make.DESCRIPTOR, subject)

    def encode_lines(self, rows: pa.RecordBatch) -> bytes:
        """Protobuf is binary: there are no lines of it."""
        raise TypeError("Protobuf has no lines")

    def encode_messages(self, rows: pa.RecordBatch) -> pa.BinaryArray:
        """One payload per row."""
        columns = [column.to_pylist() for column in rows.columns]
        return pa.array([self._payload(row) for row in zip(*columns, strict=True)], pa.binary())

    def _payload(self, row: Sequence[Any]) -> bytes:
        made = self._make(**_set(self._fields, row))
        try:
            # maps in one order, so that an epoch that is run again gives the same bytes
            body = bytes(made.SerializeToString(deterministic=True))
        except message.EncodeError as wrong:
            raise InvalidValueError(
                f"a row is no message {self._options.message}: {wrong}", hint="give each required field a value"
            ) from wrong
        return self._header + (_varint(len(body)) if self._options.length_delimited else b"") + body


_Fields: TypeAlias = Sequence[tuple[Any, Shape]]


def _fields_of(kind: Any, columns: Iterable[tuple[str, types.Type]]) -> _Fields:
    """The field of each column, and how its values are shaped. Raises OptionValueError where there is none."""
    by_name = {field.name.lower(): field for field in kind.fields} | {field.name: field for field in kind.fields}
    found = []
    for name, column in columns:
        field = by_name.get(name) or by_name.get(name.lower())
        if field is None:
            raise OptionValueError(
                f"the message {kind.full_name} has no field for the column {name!r}",
                hint=f"it has {', '.join(one.name for one in kind.fields)}",
            )
        shape = _shape(field, column)
        if shape is None:
            raise OptionValueError(
                f"the field {field.name!r} of {kind.full_name} does not take {column}",
                hint=f"cast the column: the field is {_shown(field)}",
            )
        found.append((field, shape))
    return found


def _set(fields: _Fields, values: Iterable[Any]) -> dict[str, Any]:
    chosen: dict[str, str] = {}
    found = {}
    for (field, shape), value in zip(fields, values, strict=True):
        if value is None:
            continue
        if field.containing_oneof is not None:
            other = chosen.setdefault(field.containing_oneof.name, field.name)
            if other != field.name:
                raise InvalidValueError(
                    f"a row has both {other!r} and {field.name!r}, and a message takes one of them",
                    hint="make all but one of them NULL",
                )
        found[field.name] = shape(value)
    return found


def _shape(field: Any, column: types.Type) -> Shape | None:
    if is_map(field):
        return None
    if not field.is_repeated:
        return _shape_of_one(field, column)
    if not isinstance(column, types.Array):
        return None
    element = _shape_of_one(field, column.element)
    return None if element is None else _list_of(field, element)


def _shape_of_one(field: Any, column: types.Type) -> Shape | None:
    if field.message_type is not None:
        return _shape_of_message(field.message_type, column)
    if isinstance(column, types.Text) and field.type == FieldDescriptor.TYPE_ENUM:
        return _number_in(field.enum_type)
    return _shape_of_scalar(field.type, column)


def _shape_of_scalar(kind: int, column: types.Type) -> Shape | None:
    match column:
        case types.Boolean() if kind == FieldDescriptor.TYPE_BOOL:
            return _same
        case types.Integer(bits, signed) if bits <= _SIGNED.get(kind, 0):
            # one of 64 bits without a sign is held in 63, and fits too
            return _same if signed or bits < _SIGNED[kind] or bits == 64 else None
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
        inner = _shape_of_one(kind.fields_by_name["value"], column)
        return None if inner is None else lambda value: {"value": inner(value)}
    match column:
        case types.Timestamp() if kind.full_name == TIME:
            return lambda at: _seconds(at - _EPOCH)
        case types.Interval() if kind.full_name == LENGTH:
            return _length
        case types.Struct(members):
            fields = _fields_of(kind, [(member.name, member.type) for member in members])
            return lambda struct: _set(fields, (struct[member.name] for member in members))
    return None


def _same(value: Any) -> Any:
    return value


def _list_of(field: Any, shape: Shape) -> Shape:
    def shaped(values: Sequence[Any]) -> list[Any]:
        if any(value is None for value in values):
            raise InvalidValueError(
                f"a list for {field.name!r} has a NULL, and a message cannot hold one", hint="take it out"
            )
        return [shape(value) for value in values]

    return shaped


def _number_in(kind: Any) -> Shape:
    numbers: Mapping[str, int] = {value.name: value.number for value in kind.values}

    def number(name: str) -> int:
        if name not in numbers:
            raise InvalidValueError(
                f"the enum {kind.full_name} has no value {name!r}", hint=f"it has {', '.join(numbers)}"
            )
        return numbers[name]

    return number


def _seconds(length: timedelta) -> dict[str, int]:
    seconds, rest = divmod(length, timedelta(seconds=1))
    return {"seconds": seconds, "nanos": rest // _MICROSECOND * 1000}


def _length(length: timedelta) -> dict[str, int]:
    """As a Duration: both parts have the sign of the whole."""
    parts = _seconds(abs(length))
    return parts if length >= timedelta(0) else {name: -part for name, part in parts.items()}


def _shown(field: Any) -> str:
    if is_map(field):
        return "a map, which no column is"
    if field.message_type is not None:
        name = field.message_type.full_name
    elif field.enum_type is not None:
        name = f"{field.enum_type.full_name}, whose values are written as TEXT"
    else:
        name = _NAMES[field.type]
    return f"repeated {name}" if field.is_repeated else name


_NAMES = {
    getattr(FieldDescriptor, name): name.removeprefix("TYPE_").lower()
    for name in dir(FieldDescriptor)
    if name.startswith("TYPE_")
}


def _registered(kind: Any, subject: Subject) -> bytes:
    """What stands before each message: the number of its file, and its place in there."""
    foreign = [file.name for file in kind.file.dependencies if not file.name.startswith("google/protobuf/")]
    if foreign:
        raise OptionValueError(
            f"{kind.file.name} imports {', '.join(foreign)}, and a registry is told of one file only",
            hint="put the messages into one file, or write without 'protobuf.confluent_schema_registry'",
        )
    text = b64encode(kind.file.serialized_pb).decode()
    place = _place(kind)
    # the first message of a file is written as a single zero
    path = b"\0" if place == [0] else b"".join(_varint(number << 1) for number in (len(place), *place))
    return header(subject.registry.register(subject.name, "PROTOBUF", text)) + path


def _place(kind: Any) -> list[int]:
    if kind.containing_type is None:
        return [list(kind.file.message_types_by_name).index(kind.name)]
    return [*_place(kind.containing_type), list(kind.containing_type.nested_types_by_name).index(kind.name)]


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
