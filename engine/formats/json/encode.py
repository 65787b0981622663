"""Encode rows as JSON, column by column: every value becomes text, and the texts of a row are joined.

    columns   n is 2.0 and NULL       name is a and b
    texts     2.0, null               "a", "b"
    joined    {"n":2.0,"name":"a"}    {"n":null,"name":"b"}

This is one pass of Arrow kernels per column instead of a call of Python's `json` per row. Members of a STRUCT and
elements of an array are encoded the same way.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine import types
from engine.formats.json.options import JsonOptions, TimestampFormat
from engine.formats.schema_registry import Subject, header
from engine.formats.timestamps import to_millis, to_text
from engine.schema import Schema

_LAST_CONTROL = 0x1F


class JsonEncoder:
    """Encodes rows of one schema: the columns in order, with NULLs, without blanks."""

    def __init__(self, options: JsonOptions, schema: Schema, subject: Subject | None = None) -> None:
        self._options = options
        self._header = b""
        if options.confluent_schema_registry and subject is not None:
            text = json.dumps(json_schema(schema, options))
            self._header = header(subject.registry.register(subject.name, "JSON", text))
        self._kind = types.Struct(tuple(types.Member(field.name, field.type) for field in schema))
        self._head = f'{{"schema":{_connect_schema(schema, options)},"payload":' if options.include_schema else ""
        self._tail = "}" if options.include_schema else ""

    def encode_lines(self, rows: pa.RecordBatch) -> bytes:
        """Return one line per row, each ended by a newline."""
        return join_texts(self.texts(rows)) if rows.num_rows else b""

    def encode_messages(self, rows: pa.RecordBatch) -> pa.BinaryArray:
        """Return one payload per row."""
        records = self.texts(rows).cast(pa.binary())
        return pc.binary_join_element_wise(self._header, records, b"") if self._header else records

    def texts(self, rows: pa.RecordBatch) -> pa.StringArray:
        """Return one text per row."""
        if self._options.unstructured:
            return pc.fill_null(rows.column(0), "null")
        texts = _object(rows.columns, self._kind, self._options)
        if self._head:
            return pc.binary_join_element_wise(self._head, texts, self._tail, "")
        return texts


def join_texts(texts: pa.StringArray) -> bytes:
    """Return the texts as lines, each ended by a newline."""
    # the joined lines lie side by side in one buffer, so that buffer is the answer
    return _contents(pc.binary_join_element_wise(texts, "\n", ""))


def _with_point(numbers: pa.StringArray) -> pa.StringArray:
    """Return whole numbers as `2.0`, so that a reader sees that they are not integers."""
    is_whole = pc.match_substring_regex(numbers, r"^-?\d+$")
    return pc.if_else(is_whole, pc.binary_join_element_wise(numbers, ".0", ""), numbers)


def _object(columns: Iterable[pa.Array], kind: types.Struct, options: JsonOptions) -> pa.StringArray:
    parts: list[pa.StringArray | str] = []
    before = "{"
    for column, member in zip(columns, kind.members, strict=True):
        parts += [f"{before}{_quoted(member.name)}:", _text(column, member.type, options)]
        before = ","
    return pc.binary_join_element_wise(*parts, "}" if parts else "{}", "")


def _text(column: pa.Array, kind: types.Type, options: JsonOptions) -> pa.StringArray:
    """Return each value as JSON, NULL as null."""
    if column.null_count == len(column):
        return pa.array(["null"] * len(column), pa.string())
    return pc.fill_null(_text_or_null(column, kind, options), "null")


def _text_or_null(column: pa.Array, kind: types.Type, options: JsonOptions) -> pa.StringArray:
    match kind:
        case types.Boolean() | types.Integer():
            return column.cast(pa.string())
        case types.Float():
            return _numbers(column, options)
        case types.Text():
            return _escaped(column)
        case types.Json():
            return _one_line(column)
        case types.Timestamp():
            return _timestamp(column, options)
        case types.Date():
            return pc.binary_join_element_wise('"', column.cast(pa.string()), '"', "")
        case types.Interval():
            return column.cast(pa.int64()).cast(pa.string())
        case types.Decimal(scale=scale):
            return _decimal(column, scale, options)
        case types.Bytes():
            texts = [None if raw is None else f'"{base64.b64encode(raw).decode()}"' for raw in column.to_pylist()]
            return pa.array(texts, pa.string())
        case types.Struct():
            texts = _object(column.flatten(), kind, options)
            return pc.if_else(column.is_valid(), texts, pa.scalar(None, pa.string())) if column.null_count else texts
        case types.Array(element):
            return _array(column, element, options)
    return pa.nulls(len(column), pa.string())


def _numbers(column: pa.FloatingPointArray, options: JsonOptions) -> pa.StringArray:
    """Return numbers in JSON; values that JSON lacks become NULL, or text if the options say so."""
    is_finite = pc.is_finite(column)
    texts = _with_point(pc.if_else(is_finite, column, pa.scalar(None, column.type)).cast(pa.string()))
    if options.non_finite == "null" or pc.all(is_finite).as_py() is not False:
        return texts
    infinity = pc.if_else(pc.greater(column, 0.0), '"Infinity"', '"-Infinity"')
    return pc.if_else(is_finite, texts, pc.if_else(pc.is_nan(column), '"NaN"', infinity))


def _timestamp(column: pa.TimestampArray, options: JsonOptions) -> pa.StringArray:
    match options.timestamp_format:
        case "rfc3339":
            return pc.binary_join_element_wise('"', to_text(column), '"', "")
        case "unix_millis":
            return to_millis(column).cast(pa.string())
        case "unix_micros":
            return column.cast(pa.int64()).cast(pa.string())


def _array(column: pa.ListArray, element: types.Type, options: JsonOptions) -> pa.StringArray:
    values = column.flatten()
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    texts = _text(values, element, options) if len(values) else pa.array([], pa.string())
    joined = pc.binary_join(pa.ListArray.from_arrays(offsets, texts), ",")
    whole = pc.binary_join_element_wise("[", joined, "]", "")
    return pc.if_else(column.is_valid(), whole, pa.scalar(None, pa.string())) if column.null_count else whole


def _decimal(column: pa.Array, scale: int, options: JsonOptions) -> pa.StringArray:
    if options.decimal_encoding == "bytes":
        texts = [None if number is None else f'"{_digits(number, scale)}"' for number in column.to_pylist()]
        return pa.array(texts, pa.string())
    texts = column.cast(pa.string())
    if b"E" in _contents(texts):
        # Arrow writes very small ones with an exponent, which no reader expects of a decimal
        texts = pa.array([None if number is None else f"{number:f}" for number in column.to_pylist()], pa.string())
    return texts if options.decimal_encoding == "number" else pc.binary_join_element_wise('"', texts, '"', "")


def _digits(number: Decimal, scale: int) -> str:
    whole = int(number.scaleb(scale))
    return base64.b64encode(whole.to_bytes(whole.bit_length() // 8 + 1, "big", signed=True)).decode()


def _escaped(column: pa.StringArray) -> pa.StringArray:
    contents = _contents(column)
    if contents and np.frombuffer(contents, np.uint8).min() <= _LAST_CONTROL:
        texts = [None if text is None else _quoted(text) for text in column.to_pylist()]
        return pa.array(texts, pa.string())
    if b"\\" in contents:
        column = pc.replace_substring(column, "\\", "\\\\")
    if b'"' in contents:
        column = pc.replace_substring(column, '"', '\\"')
    return pc.binary_join_element_wise('"', column, '"', "")


def _one_line(column: pa.StringArray) -> pa.StringArray:
    """Return JSON text without line breaks, which can only be between its tokens."""
    contents = _contents(column)
    for mark in ("\n", "\r"):
        if mark.encode() in contents:
            column = pc.replace_substring(column, mark, " ")
    return column


def _contents(column: pa.StringArray) -> bytes:
    """Return the concatenated bytes of all texts."""
    offsets, data = column.buffers()[1:]
    if data is None or offsets is None:
        return b""
    ends = np.frombuffer(offsets, np.int32, len(column) + 1, column.offset * 4)
    return bytes(memoryview(data)[int(ends[0]) : int(ends[-1])])


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _connect_schema(schema: Schema, options: JsonOptions) -> str:
    fields = connect_fields(schema, options)
    described = {"type": "struct", "fields": fields, "optional": False, "name": "ArroyoJson"}
    return json.dumps(described, separators=(",", ":"))


def connect_fields(schema: Schema, options: JsonOptions) -> list[dict[str, object]]:
    """Return the columns in Kafka Connect's form."""
    return [{"field": field.name, "optional": field.nullable, **_connect_type(field.type, options)} for field in schema]


_CONNECT_TIMES: Mapping[TimestampFormat, tuple[str, str]] = {
    "rfc3339": ("string", "io.debezium.time.IsoTimestamp"),
    "unix_millis": ("int64", "org.apache.kafka.connect.data.Timestamp"),
    "unix_micros": ("int64", "io.debezium.time.MicroTimestamp"),
}


def _connect_type(kind: types.Type, options: JsonOptions) -> dict[str, object]:
    match kind:
        case types.Boolean():
            return {"type": "boolean"}
        case types.Integer():
            return {"type": f"int{kind.held_bits}"}
        case types.Float(bits):
            return {"type": "float" if bits == 32 else "double"}
        case types.Decimal(precision, scale) if options.decimal_encoding == "bytes":
            digits = {"scale": str(scale), "connect.decimal.precision": str(precision)}
            return {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": digits}
        case types.Decimal():
            return {"type": "string" if options.decimal_encoding == "string" else "double"}
        case types.Bytes():
            return {"type": "bytes"}
        case types.Timestamp():
            type_name, name = _CONNECT_TIMES[options.timestamp_format]
            return {"type": type_name, "name": name}
        case types.Struct(members):
            parts = [(member.name, _connect_type(member.type, options)) for member in members]
            return {"type": "struct", "fields": [{"field": name, "optional": True, **part} for name, part in parts]}
        case types.Array(element):
            return {"type": "array", "items": {"optional": True, **_connect_type(element, options)}}
    return {"type": "string"}


def json_schema(schema: Schema, options: JsonOptions) -> dict[str, object]:
    """Return an object with the columns, each of which may be null unless it is NOT NULL."""
    columns = {field.name: _json_type(field.type, options) for field in schema}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Row",
        "type": "object",
        "properties": {
            field.name: _or_null(columns[field.name]) if field.nullable else columns[field.name] for field in schema
        },
        "required": [field.name for field in schema if not field.nullable],
    }


def _json_type(kind: types.Type, options: JsonOptions) -> dict[str, object]:
    match kind:
        case types.Boolean():
            return {"type": "boolean"}
        case types.Integer() | types.Interval():
            return {"type": "integer"}
        case types.Float():
            return {"type": "number"} if options.non_finite == "null" else {"type": ["number", "string"]}
        case types.Decimal():
            return {"type": "number" if options.decimal_encoding == "number" else "string"}
        case types.Timestamp():
            return (
                {"type": "string", "format": "date-time"}
                if options.timestamp_format == "rfc3339"
                else {"type": "integer"}
            )
        case types.Date():
            return {"type": "string", "format": "date"}
        case types.Json():
            return {}
        case types.Array(element):
            return {"type": "array", "items": _or_null(_json_type(element, options))}
        case types.Struct(members):
            return {
                "type": "object",
                "properties": {member.name: _or_null(_json_type(member.type, options)) for member in members},
            }
    return {"type": "string"}


def _or_null(kind: dict[str, object]) -> dict[str, object]:
    return {"oneOf": [{"type": "null"}, kind]} if kind else {}
