"""Encode rows as Protobuf messages."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from engine.errors import InvalidValueError, OptionValueError, message_of
from engine.formats.protobuf.encode_fields import fields_of, set_fields
from engine.formats.protobuf.messages import message, message_class
from engine.formats.protobuf.options import ProtobufOptions
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
        """Protobuf is binary: there are no lines of it."""
        raise TypeError("Protobuf has no lines")

    def encode_messages(self, rows: pa.RecordBatch) -> pa.BinaryArray:
        """One payload per row."""
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
    """The bytes before each message: the number of its schema, and the path of the message in its file."""
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
