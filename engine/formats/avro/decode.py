"""Decode Avro records.

The options determine the payload; columns are matched by name:

    avro.confluent_schema_registry   00 00 00 00 2A | record     written with schema 42 of the registry
    avro.raw_datums                  record                      written with `avro.schema`
    neither                          Obj 01, schema, records     an object container with its schema
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pyarrow as pa

from engine.errors import EngineError, message_of
from engine.formats.avro.options import AvroOptions
from engine.formats.avro.schema import avro_schema, fastavro, missing_registry, parse_schema
from engine.formats.base import Decoded
from engine.formats.record_rows import ParsedRecord, as_json, to_rows
from engine.formats.schema_registry import HEADER_BYTES, Subject, read_header
from engine.schema import Schema

_BROKEN = (ValueError, TypeError, KeyError, IndexError, EOFError, OverflowError, AttributeError, AssertionError)
"""Exceptions of the reader for invalid records."""


class AvroDecoder:
    """Decodes records with the schema that they were written with; columns are matched by name."""

    def __init__(self, options: AvroOptions, schema: Schema, subject: Subject | None) -> None:
        self._options = options
        self._schema = schema
        self._subject = subject
        self._own_schema = parse_schema(options.avro_schema or json.dumps(avro_schema(schema)))
        self._registered: dict[int, Any] = {}

    def decode_lines(self, block: bytes) -> Decoded:
        """Raise: Avro is binary and has no lines."""
        raise TypeError("Avro has no lines")

    def decode_messages(self, payloads: pa.BinaryArray) -> Decoded:
        """Decode the records of each payload; NULL payloads are skipped."""
        records: list[ParsedRecord] = []
        for index, payload in enumerate(payloads.to_pylist()):
            if payload is not None:
                records += self._records(index, payload)
        return to_rows(records, self._schema)

    def _records(self, index: int, payload: bytes) -> list[ParsedRecord]:
        try:
            return [ParsedRecord(index, payload, self._shaped(record)) for record in self._read(payload)]
        except EngineError:
            raise
        except _BROKEN as error:
            return [ParsedRecord(index, payload, None, f"it is not an Avro record of its schema: {message_of(error)}")]

    def _read(self, payload: bytes) -> Iterator[Any]:
        if self._options.confluent_schema_registry:
            yield _only_record(payload[HEADER_BYTES:], self._schema_of(read_header(payload)))
        elif self._options.raw_datums:
            yield _only_record(payload, self._own_schema)
        else:
            yield from list(fastavro.reader(BytesIO(payload)))

    def _schema_of(self, number: int) -> Any:
        if number not in self._registered:
            if self._subject is None:
                raise missing_registry()
            self._registered[number] = parse_schema(self._subject.registry.schema_of(number))
        return self._registered[number]

    def _shaped(self, record: Any) -> dict[str, object]:
        if self._options.into_unstructured_json:
            return {"value": json.loads(as_json(record))}
        if not isinstance(record, dict):
            raise TypeError("it is not a record")
        return record


def _only_record(payload: bytes, schema: Any) -> Any:
    file = BytesIO(payload)
    record = fastavro.schemaless_reader(file, schema, None)
    if file.tell() != len(payload):
        raise ValueError("more bytes follow the record")
    return record
