"""Avro records to rows and back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from io import BytesIO
from typing import Any

import pyarrow as pa

from engine import types
from engine.errors import EngineError, MissingPackageError, OptionValueError
from engine.formats.avro.options import AvroOptions
from engine.formats.avro.schema import avro_schema
from engine.formats.base import Decoded
from engine.formats.record_rows import FoundRecord, as_json, to_rows
from engine.formats.registry import HEADER_BYTES, Subject, header, read_header
from engine.schema import Schema

try:
    import fastavro
except ImportError as missing:
    raise MissingPackageError(
        "the format 'avro' needs the Python package fastavro", hint="pip install 'airflow-provider-arroyo[avro]'"
    ) from missing

_BROKEN = (ValueError, TypeError, KeyError, IndexError, EOFError, OverflowError, AttributeError, AssertionError)
"""What the reader raises on bytes that are no record."""


class AvroDecoder:
    """Reads records with the schema that they were written with; columns are found by their names."""

    def __init__(self, options: AvroOptions, schema: Schema, subject: Subject | None) -> None:
        self._options = options
        self._schema = schema
        self._subject = subject
        self._written = _parsed(options.avro_schema or json.dumps(avro_schema(schema)))
        self._by_number: dict[int, Any] = {}

    def decode_lines(self, block: bytes) -> Decoded:
        """Avro is binary: there are no lines of it."""
        raise TypeError("Avro has no lines")

    def decode_messages(self, payloads: pa.BinaryArray) -> Decoded:
        """Decode the records of each payload; NULL payloads are skipped."""
        found: list[FoundRecord] = []
        for index, payload in enumerate(payloads.to_pylist()):
            if payload is not None:
                found += self._records(index, payload)
        return to_rows(found, self._schema)

    def _records(self, index: int, payload: bytes) -> list[FoundRecord]:
        try:
            return [FoundRecord(index, payload, self._shaped(record)) for record in self._read(payload)]
        except EngineError:
            raise
        except _BROKEN as wrong:
            return [FoundRecord(index, payload, None, f"it is no Avro record of its schema: {wrong}")]

    def _read(self, payload: bytes) -> Iterator[Any]:
        if self._options.confluent_schema_registry:
            yield _one(payload[HEADER_BYTES:], self._schema_of(read_header(payload)))
        elif self._options.raw_datums:
            yield _one(payload, self._written)
        else:
            yield from list(fastavro.reader(BytesIO(payload)))

    def _schema_of(self, number: int) -> Any:
        if number not in self._by_number:
            if self._subject is None:
                raise _no_registry()
            self._by_number[number] = _parsed(self._subject.registry.schema_of(number))
        return self._by_number[number]

    def _shaped(self, record: Any) -> dict[str, object]:
        if self._options.into_unstructured_json:
            return {"value": json.loads(as_json(record))}
        if not isinstance(record, dict):
            raise TypeError("it is not a record")
        return record


class AvroEncoder:
    """Writes rows as records of the table's schema, or of the one that is given."""

    def __init__(self, options: AvroOptions, schema: Schema, subject: Subject | None) -> None:
        text = options.avro_schema or json.dumps(avro_schema(schema))
        self._options = options
        self._written = _parsed(text)
        self._columns = [(field.name, _shaper(field.type)) for field in schema]
        self._header = b""
        if options.confluent_schema_registry:
            if subject is None:
                raise _no_registry()
            self._header = header(subject.registry.register(subject.name, "AVRO", text))

    def encode_lines(self, rows: pa.RecordBatch) -> bytes:
        """Avro is binary: there are no lines of it."""
        raise TypeError("Avro has no lines")

    def encode_messages(self, rows: pa.RecordBatch) -> pa.BinaryArray:
        """One payload per row."""
        columns = [
            (name, values if shape is None else [None if one is None else shape(one) for one in values])
            for (name, shape), values in zip(
                self._columns, (column.to_pylist() for column in rows.columns), strict=True
            )
        ]
        names = [name for name, _ in columns]
        records = [dict(zip(names, row, strict=True)) for row in zip(*(part for _, part in columns), strict=True)]
        return pa.array([self._payload(record) for record in records], pa.binary())

    def _payload(self, record: dict[str, object]) -> bytes:
        buffer = BytesIO()
        if self._options.confluent_schema_registry or self._options.raw_datums:
            buffer.write(self._header)
            fastavro.schemaless_writer(buffer, self._written, record)
        else:
            fastavro.writer(buffer, self._written, [record], sync_marker=b"\0" * 16)
        return buffer.getvalue()


def _one(payload: bytes, schema: Any) -> Any:
    file = BytesIO(payload)
    record = fastavro.schemaless_reader(file, schema, None)
    if file.tell() != len(payload):
        raise ValueError("there are bytes behind it")
    return record


def _parsed(text: str) -> Any:
    try:
        return fastavro.parse_schema(json.loads(text))
    except (ValueError, TypeError, KeyError, fastavro.schema.SchemaParseException) as wrong:
        raise OptionValueError(f"this is no Avro schema: {wrong}", hint="see 'avro.schema' or the registry") from wrong


def _shaper(kind: types.Type) -> Any:
    """How a value of Arrow's becomes one of Avro's; None is as it is."""
    if isinstance(kind, types.Interval):
        return lambda value: value // timedelta(microseconds=1)
    return None


def _no_registry() -> OptionValueError:
    return OptionValueError(
        "'avro.confluent_schema_registry' needs a schema registry", hint="name it with 'schema_registry.endpoint'"
    )
