"""Rows to Protobuf messages."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from engine.errors import InvalidValueError, OptionValueError
from engine.formats.protobuf.fields import fields_of, set_fields
from engine.formats.protobuf.messages import message, message_class
from engine.formats.protobuf.options import ProtobufOptions
from engine.formats.registry import Subject, header
from engine.schema import Schema


class ProtobufEncoder:
    """Writes messages of one kind. NULL is a field that is not set."""

    def __init__(self, options: ProtobufOptions, schema: Schema, subject: Subject | None) -> None:
        self._options = options
        self._make = message_class(options)
        self._fields = fields_of(self._make.DESCRIPTOR, [(field.name, field.type) for field in schema])
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
        made = self._make(**set_fields(self._fields, row))
        try:
            body = bytes(made.SerializeToString())
        except message.EncodeError as wrong:
            raise InvalidValueError(
                f"a row is no message {self._options.message}: {wrong}", hint="give each required field a value"
            ) from wrong
        return self._header + (_varint(len(body)) if self._options.length_delimited else b"") + body


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
