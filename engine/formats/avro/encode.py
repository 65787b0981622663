"""Encode rows as Avro records: after a registry's header, as bare values, or each as an object container."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from io import BytesIO
from typing import Any

import pyarrow as pa

from engine import types
from engine.formats.avro.options import AvroOptions
from engine.formats.avro.schema import avro_schema, fastavro, missing_registry, parse_schema
from engine.formats.schema_registry import Subject, header
from engine.schema import Schema

_SYNC_MARKER = b"\0" * 16
"""Sync marker of containers. Others are random; ours is constant, so that a row always gives the same bytes."""


class AvroEncoder:
    """Encodes rows as records of the table's schema, or of the one in the options."""

    def __init__(self, options: AvroOptions, schema: Schema, subject: Subject | None) -> None:
        text = options.avro_schema or json.dumps(avro_schema(schema))
        self._is_bare = options.confluent_schema_registry or options.raw_datums
        self._record_schema = parse_schema(text)
        self._columns = [(field.name, _shaper(field.type)) for field in schema]
        self._header = b""
        if options.confluent_schema_registry:
            if subject is None:
                raise missing_registry()
            self._header = header(subject.registry.register(subject.name, "AVRO", text))

    def encode_lines(self, rows: pa.RecordBatch) -> bytes:
        """Raise: Avro is binary and has no lines."""
        raise TypeError("Avro has no lines")

    def encode_messages(self, rows: pa.RecordBatch) -> pa.BinaryArray:
        """Return one payload per row."""
        names = [name for name, _ in self._columns]
        columns = [
            _shaped(column.to_pylist(), shape) for (_, shape), column in zip(self._columns, rows.columns, strict=True)
        ]
        records = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        return pa.array([self._payload(record) for record in records], pa.binary())

    def _payload(self, record: dict[str, object]) -> bytes:
        buffer = BytesIO()
        if self._is_bare:
            buffer.write(self._header)
            fastavro.schemaless_writer(buffer, self._record_schema, record)
        else:
            fastavro.writer(buffer, self._record_schema, [record], sync_marker=_SYNC_MARKER)
        return buffer.getvalue()


def _shaper(kind: types.Type) -> Callable[[Any], object] | None:
    """Return the conversion from an Arrow value to an Avro value; None if none is needed."""
    if isinstance(kind, types.Interval):
        return lambda value: value // timedelta(microseconds=1)
    return None


def _shaped(values: list[Any], shape: Callable[[Any], object] | None) -> list[Any]:
    return values if shape is None else [None if value is None else shape(value) for value in values]
