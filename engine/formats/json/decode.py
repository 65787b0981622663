"""JSON to rows. Whole blocks go through Arrow's own reader; a block it cannot take goes row by row."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from engine import types
from engine.formats.base import BadRecord, Decoded
from engine.formats.json.decode_rows import decode_rows, read_decimal_bytes
from engine.formats.json.decode_structs import struct_decoder
from engine.formats.json.options import JsonOptions
from engine.formats.lines import count_lines, join_lines, split_block, split_lines
from engine.formats.registry import HEADER_BYTES, read_header
from engine.formats.timestamps import ARROW_TIMESTAMP, from_millis, from_nanos
from engine.schema import Schema, arrow_schema, to_arrow

_SMALL = 32 * 1024
_PIECES = 8
_MARK = b"\xef\xbb\xbf"


class JsonDecoder:
    """Decodes records of one schema. Both ways give the same rows; only the slow one gives reasons."""

    def __init__(self, options: JsonOptions, schema: Schema) -> None:
        self._options = options
        self._schema = schema
        self._target = arrow_schema(schema)
        raw = [(field.name, _raw_type(field.type, options)) for field in schema]
        self._raw = None if any(kind is None for _, kind in raw) else pa.schema(raw)
        self._structs = struct_decoder(schema, options, self._raw)
        if self._raw is not None and options.include_schema:
            self._raw = pa.schema([("payload", pa.struct(list(self._raw)))])

    def decode_lines(self, block: bytes) -> Decoded:
        """Decode newline-delimited records; the block ends with a newline or with the input."""
        fast = self._fast(block)
        if fast is not None:
            return fast
        if len(block) > _SMALL and (self._raw is not None or self._options.unstructured):
            # most of it may be as usual, so look for the part that is not
            return _join([(self.decode_lines(part), count_lines(part)) for part in split_block(block, _PIECES)])
        return decode_rows(split_lines(block).to_pylist(), self._schema, self._options)

    def decode_messages(self, payloads: pa.BinaryArray) -> Decoded:
        """Decode one record per payload; NULL payloads are skipped."""
        origin = None
        if payloads.null_count:
            origin = pc.indices_nonzero(payloads.is_valid()).cast(pa.int64())
            payloads = payloads.drop_null()
        if self._options.confluent_schema_registry:
            return _renumber(self._behind_headers(payloads), origin)
        if not len(payloads):
            return Decoded(_empty(self._target), None)
        return _renumber(self.decode_lines(join_lines(payloads)), origin)

    def _behind_headers(self, payloads: pa.BinaryArray) -> Decoded:
        """Decode what follows a registry's header; a payload without one is a bad record."""
        good: list[int] = []
        bodies: list[bytes] = []
        bad: list[BadRecord] = []
        for index, payload in enumerate(payloads.to_pylist()):
            try:
                read_header(payload)
            except ValueError as wrong:
                bad.append(BadRecord(index, str(wrong), payload))
            else:
                good.append(index)
                bodies.append(payload[HEADER_BYTES:])
        if not bodies:
            return Decoded(_empty(self._target), None, bad)
        lines = join_lines(pa.array(bodies, pa.binary()))
        decoded = _renumber(self.decode_lines(lines), pa.array(good, pa.int64()))
        return Decoded(decoded.rows, decoded.origin, [*bad, *decoded.bad])

    def _fast(self, block: bytes) -> Decoded | None:
        """The whole block at once, or None when anything about it is unusual."""
        if not block:
            return Decoded(_empty(self._target), None)
        if not (block.isascii() or _is_utf8(block)):
            return None
        if self._options.unstructured:
            return self._whole(block)
        if self._raw is None:
            return None
        columns = self._columns(block)
        if columns is None:
            return None
        if self._options.include_schema:
            envelope = _one(columns[0])
            if envelope.null_count:
                return None
            columns = envelope.flatten()
        try:
            arrays = [
                _finish(_one(column), field.type, self._options)
                for column, field in zip(columns, self._schema, strict=True)
            ]
        except _UnusualError:
            return None
        if any(array.null_count and not field.nullable for array, field in zip(arrays, self._schema, strict=True)):
            return None
        return Decoded(pa.RecordBatch.from_arrays(arrays, schema=self._target), None)

    def _columns(self, block: bytes) -> list[pa.Array | pa.ChunkedArray] | None:
        """The columns as they are written, before they become what the schema says."""
        if self._structs is not None:
            found = self._structs.decode(block)
            if found is not None and found[1] == count_lines(block):
                return list(found[0])
        table = None if self._raw is None else _parse(block, self._raw)
        return None if table is None else list(table.columns)

    def _whole(self, block: bytes) -> Decoded | None:
        if _parse(block, pa.schema([])) is None:
            return None
        values = split_lines(block.removeprefix(_MARK)).cast(pa.string())
        return Decoded(pa.RecordBatch.from_arrays([values], schema=self._target), None)


class _UnusualError(Exception):
    """The fast way does not know what to do with a value."""


def _parse(block: bytes, schema: pa.Schema) -> pa.Table | None:
    """The block as Arrow reads it, or None when it is not one object to a line."""
    try:
        table = pj.read_json(
            pa.BufferReader(block),
            read_options=pj.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
    except pa.ArrowException:
        return None
    return table if table.num_rows == count_lines(block) else None


def _raw_type(kind: types.Type, options: JsonOptions) -> pa.DataType | None:
    """The type that Arrow's reader is asked for; None when it cannot read such values."""
    match kind:
        case types.Boolean() | types.Integer() | types.Text():
            return to_arrow(kind)
        case types.Float():
            return pa.float64()
        case types.Timestamp():
            return pa.timestamp("ns") if options.timestamp_format == "rfc3339" else pa.int64()
        case types.Decimal():
            return pa.string() if options.decimal_encoding == "bytes" else to_arrow(kind)
        case types.Bytes() | types.Date():
            return pa.string()
        case types.Struct(members):
            raw = [(member.name, _raw_type(member.type, options)) for member in members]
            return None if any(part is None for _, part in raw) else pa.struct(raw)
        case types.Array(element):
            part = _raw_type(element, options)
            return None if part is None else pa.list_(pa.field("element", part))
    return None


def _finish(array: pa.Array, kind: types.Type, options: JsonOptions) -> pa.Array:
    """Values as Arrow read them, as values of `kind`."""
    match kind:
        case types.Integer(signed=False):
            _check_range(array, kind)
        case types.Float(bits=32):
            return array.cast(pa.float32(), safe=False)
        case types.Timestamp():
            return _timestamps(array, options)
        case types.Decimal(scale=scale) if options.decimal_encoding == "bytes":
            return _each(array, lambda text: read_decimal_bytes(text, scale), to_arrow(kind))
        case types.Date():
            return _days(array)
        case types.Bytes():
            return _each(array, lambda text: base64.b64decode(text, validate=True), pa.binary())
        case types.Struct(members) if not _is_plain(kind):
            parts = [_finish(part, member.type, options) for part, member in zip(array.flatten(), members, strict=True)]
            mask = array.is_null() if array.null_count else None
            return pa.StructArray.from_arrays(parts, fields=list(to_arrow(kind)), mask=mask)
        case types.Array(element) if not _is_plain(kind):
            values = _finish(array.values, element, options)
            mask = array.is_null() if array.null_count else None
            return pa.ListArray.from_arrays(array.offsets, values, type=to_arrow(kind), mask=mask)
    return array


def _days(array: pa.StringArray) -> pa.Array:
    try:
        return array.cast(pa.date32())
    except pa.ArrowException as unusual:
        raise _UnusualError from unusual


def _timestamps(array: pa.Array, options: JsonOptions) -> pa.TimestampArray:
    match options.timestamp_format:
        case "unix_millis":
            return from_millis(array)
        case "unix_micros":
            return array.cast(ARROW_TIMESTAMP)
        case "rfc3339":
            return from_nanos(array)


def _is_plain(kind: types.Type) -> bool:
    """Whether Arrow reads such values straight into their final type."""
    match kind:
        case types.Struct(members):
            return all(_is_plain(member.type) for member in members)
        case types.Array(element):
            return _is_plain(element)
        case types.Boolean() | types.Text() | types.Integer(signed=True) | types.Float(bits=64):
            return True
    return False


def _check_range(array: pa.Array, kind: types.Integer) -> None:
    limits = pc.min_max(array).as_py()
    if limits["min"] is None:
        return
    if limits["min"] < 0 or limits["max"] > (1 << min(kind.bits, 63)) - 1:
        raise _UnusualError


def _each(array: pa.StringArray, read: Callable[[str], object], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array([None if text is None else read(text) for text in array.to_pylist()], kind)
    except (binascii.Error, ValueError, ArithmeticError, pa.ArrowException) as unusual:
        raise _UnusualError from unusual


def _one(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


def _join(parts: list[tuple[Decoded, int]]) -> Decoded:
    """What was decoded part by part, each with its number of lines, as a whole."""
    origins, bad, first = [], [], 0
    for part, lines in parts:
        origin = pa.array(range(part.rows.num_rows), pa.int64()) if part.origin is None else part.origin
        origins.append(pc.add(origin, first))
        bad += [BadRecord(record.index + first, record.reason, record.raw) for record in part.bad]
        first += lines
    return Decoded(pa.concat_batches([part.rows for part, _ in parts]), pa.concat_arrays(origins), bad)


def _renumber(decoded: Decoded, origin: pa.Int64Array | None) -> Decoded:
    """The same with the numbers that the records had before some were left out."""
    if origin is None:
        return decoded
    bad = [BadRecord(origin[record.index].as_py(), record.reason, record.raw) for record in decoded.bad]
    return Decoded(decoded.rows, origin if decoded.origin is None else origin.take(decoded.origin), bad)
