"""Decode Protobuf messages.

Depending on the options, this precedes the message:

    protobuf.confluent_schema_registry   00 00 00 00 2A | 04 02 06   the registry's header (schema 42), and the path
                                         of the message in its file: 2 steps, message 1, in it message 3 (zigzag)
    protobuf.length_delimited            05                          the length of the message

The schema number is ignored: the descriptors in the options define the message.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from engine.errors import message_of
from engine.formats.base import Decoded
from engine.formats.protobuf.messages import (
    LENGTH,
    TIME,
    WRAPPERS,
    FieldDescriptor,
    ProtobufOptions,
    is_map,
    message,
    message_class,
)
from engine.formats.record_rows import ParsedRecord, to_rows
from engine.formats.schema_registry import HEADER_BYTES, read_header
from engine.schema import Schema


class ProtobufDecoder:
    """Decodes messages of one type. An unset field is NULL if that is known, else its default."""

    def __init__(self, options: ProtobufOptions, schema: Schema) -> None:
        self._options = options
        self._schema = schema
        self._make = message_class(options)

    def decode_lines(self, block: bytes) -> Decoded:
        """Raise: Protobuf is binary and has no lines."""
        raise TypeError("Protobuf has no lines")

    def decode_messages(self, payloads: pa.BinaryArray) -> Decoded:
        """Decode one message per payload; NULL payloads are skipped."""
        records = [
            self._record(index, payload) for index, payload in enumerate(payloads.to_pylist()) if payload is not None
        ]
        return to_rows(records, self._schema)

    def _record(self, index: int, payload: bytes) -> ParsedRecord:
        try:
            return ParsedRecord(index, payload, dict(_fields(self._make.FromString(self._body(payload)))))
        except (message.DecodeError, ValueError, IndexError, OverflowError) as error:
            return ParsedRecord(
                index, payload, None, f"it is not a message {self._options.message}: {message_of(error)}"
            )

    def _body(self, payload: bytes) -> bytes:
        at = 0
        if self._options.confluent_schema_registry:
            read_header(payload)
            count, at = _varint(payload, HEADER_BYTES)
            for _ in range(count >> 1):  # a zigzag number, twice the count
                _, at = _varint(payload, at)
        if self._options.length_delimited:
            length, at = _varint(payload, at)
            if at + length != len(payload):
                raise ValueError("its length is not the one before it")
        return payload[at:]


def _fields(parsed: Any) -> Iterator[tuple[str, object]]:
    for field in parsed.DESCRIPTOR.fields:
        if field.has_presence and not parsed.HasField(field.name):
            yield field.name, None
        else:
            yield field.name, _field(field, getattr(parsed, field.name))


def _field(field: Any, value: Any) -> object:
    if is_map(field):
        inner = field.message_type.fields_by_name["value"]
        return {str(key): _value(inner, element) for key, element in value.items()}
    if field.is_repeated:
        return [_value(field, element) for element in value]
    return _value(field, value)


def _value(field: Any, value: Any) -> object:
    if field.type == FieldDescriptor.TYPE_ENUM:
        # A newer writer may know values that our descriptors do not.
        declared = field.enum_type.values_by_number.get(value)
        return str(value) if declared is None else declared.name
    if field.message_type is None:
        return value
    match field.message_type.full_name:
        case name if name in WRAPPERS:
            return value.value
        case name if name == TIME:
            return datetime.fromtimestamp(value.seconds, UTC) + timedelta(microseconds=value.nanos // 1000)
        case name if name == LENGTH:
            return timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
    return dict(_fields(value))


def _varint(payload: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = payload[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at
        if shift > 63:
            raise ValueError("a length in it is too long")
