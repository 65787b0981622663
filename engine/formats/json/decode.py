"""Decode JSON: whole blocks in a fast way, and unusual records one at a time.

    a block of 1 MB     narrow tables: a decoder generated for the columns (`decode_narrow.py`); else Arrow's reader
                        (`decode_blocks.py`). Blocks of usual records are done.
    an unusual block    is cut into 8 parts; each part is tried again, down to 32 kB
    a part of 32 kB     is decoded record by record (`decode_rows.py`), which tells bad records from odd ones

All ways give the same rows; only the slowest gives error messages.

Decode the used columns of JSON blocks, and check the others.

Whether a record is valid depends on all columns of its table, so columns that no query reads are checked. For the
columns `price BIGINT` (used), `channel TEXT`, `bidder BIGINT`, `at TIMESTAMP`:

    channel   every scalar is a TEXT, so in a block without nested values it is skipped
    bidder    its numbers are parsed and range-checked, without making a column
    at        is decoded like a used column, and dropped
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine import types
from engine.errors import message_of
from engine.formats.base import BadRecord, Decoded
from engine.formats.checked_columns import select
from engine.formats.json.decode_blocks import (
    UnusualError,
    are_finite,
    count_objects,
    finish,
    has_whole_zeros,
    raw_schema,
    read_block,
)
from engine.formats.json.decode_narrow import struct_decoder
from engine.formats.json.decode_rows import decode_rows
from engine.formats.json.options import JsonOptions
from engine.formats.lines import count_lines, join_lines, split_block, split_lines
from engine.formats.schema_registry import HEADER_BYTES, read_header
from engine.schema import Field, Schema, arrow_schema

_SMALL = 32 * 1024
_PARTS = 8
"""Number of parts of an unusual block. One odd record in a megabyte costs two more passes over most of it, and one slow
pass over a sixty-fourth."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class JsonDecoder:
    """Decodes records of one schema. All ways give the same rows; only the slow one gives error messages."""

    def __init__(self, options: JsonOptions, schema: Schema, declared: Schema | None = None) -> None:
        """Create a decoder of rows with the columns of `schema`; a record is bad if it does not fit one of the
        `declared` columns."""
        self._options = options
        self._declared = schema if declared is None else declared
        self._target = arrow_schema(schema)
        self._columns = ColumnReader(options, schema, self._declared)

    def decode_lines(self, block: bytes) -> Decoded:
        """Decode newline-delimited records; the block ends with a newline or with the input."""
        fast = self._fast(block)
        if fast is not None:
            return fast
        if len(block) > _SMALL and (self._columns.can_read or self._options.unstructured):
            # most of it may be as usual, so look for the part that is not
            return _join([(self.decode_lines(part), count_lines(part)) for part in split_block(block, _PARTS)])
        return select(decode_rows(split_lines(block).to_pylist(), self._declared, self._options), self._target.names)

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
        """Decode the payload after a registry's header; a payload without one is a bad record."""
        good: list[int] = []
        bodies: list[bytes] = []
        bad: list[BadRecord] = []
        for index, payload in enumerate(payloads.to_pylist()):
            try:
                read_header(payload)
            except ValueError as error:
                bad.append(BadRecord(index, message_of(error), payload))
            else:
                good.append(index)
                bodies.append(payload[HEADER_BYTES:])
        if not bodies:
            return Decoded(_empty(self._target), None, bad)
        lines = join_lines(pa.array(bodies, pa.binary()))
        decoded = _renumber(self.decode_lines(lines), pa.array(good, pa.int64()))
        return Decoded(decoded.rows, decoded.origin, [*bad, *decoded.bad])

    def _fast(self, block: bytes) -> Decoded | None:
        """Return the whole block at once, or None when anything about it is unusual."""
        if not block:
            return Decoded(_empty(self._target), None)
        if not (block.isascii() or _is_utf8(block)):
            return None
        if self._options.unstructured:
            return self._whole(block)
        rows = self._columns.read(block)
        return None if rows is None else Decoded(rows, None)

    def _whole(self, block: bytes) -> Decoded | None:
        if read_block(block, pa.schema([])) is None:
            return None
        values = split_lines(block.removeprefix(_BYTE_ORDER_MARK)).cast(pa.string())
        return Decoded(pa.RecordBatch.from_arrays([values], schema=self._target), None)


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


def _join(parts: list[tuple[Decoded, int]]) -> Decoded:
    """Join the decoded parts, each with its number of lines."""
    origins, bad, first = [], [], 0
    for part, lines in parts:
        origin = pa.array(range(part.rows.num_rows), pa.int64()) if part.origin is None else part.origin
        origins.append(pc.add(origin, first))
        bad += [BadRecord(record.index + first, record.reason, record.raw) for record in part.bad]
        first += lines
    return Decoded(pa.concat_batches([part.rows for part, _ in parts]), pa.concat_arrays(origins), bad)


def _renumber(decoded: Decoded, origin: pa.Int64Array | None) -> Decoded:
    """Restore the numbers that the records had before some were dropped."""
    if origin is None:
        return decoded
    bad = [BadRecord(origin[record.index].as_py(), record.reason, record.raw) for record in decoded.bad]
    return Decoded(decoded.rows, origin if decoded.origin is None else origin.take(decoded.origin), bad)


_OPENING = ord("{")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
"""Half of a surrogate pair, which is not valid text."""


class ColumnReader:
    """Decodes blocks of usual records: the columns of `schema`, if those of `declared` fit as well."""

    def __init__(self, options: JsonOptions, schema: Schema, declared: Schema) -> None:
        read = frozenset(schema.names)
        self._all = _Columns(options, schema, declared)
        any_scalar_fits = [field for field in declared if field.name not in read and _takes_scalars(field)]
        others = Schema(tuple(field for field in declared if field not in any_scalar_fits))
        self._of_flat_records = _Columns(options, schema, others) if any_scalar_fits else self._all

    @property
    def can_read(self) -> bool:
        """Whether the reader supports the columns."""
        return self._all.can_read or self._of_flat_records.can_read

    def read(self, block: bytes) -> pa.RecordBatch | None:
        """Return the rows of a block, or None if anything about it is unusual."""
        if self._of_flat_records is not self._all and _is_flat(block):
            return self._of_flat_records.read(block)
        return self._all.read(block)


class _Columns:
    """Decodes the columns of `schema`, and checks those in `checked`."""

    def __init__(self, options: JsonOptions, schema: Schema, checked: Schema) -> None:
        self._options = options
        self._names = schema.names
        self._target = arrow_schema(schema)
        raw = raw_schema(checked, options)
        self._structs = struct_decoder(checked, options, raw, frozenset(schema.names))
        self._checked = checked
        if raw is not None and options.include_schema:
            raw = pa.schema([("payload", pa.struct(list(raw)))])
        self._raw = raw

    @property
    def can_read(self) -> bool:
        """Whether these types have a fast reader."""
        return self._raw is not None

    def read(self, block: bytes) -> pa.RecordBatch | None:
        """Return the rows of a block, or None if anything about it is unusual."""
        if self._raw is None:
            return None
        if self._structs is not None:
            decoded = self._structs.decode(block)
            if decoded is not None and decoded.rows == count_objects(block):
                return self._finish(self._structs.schema, decoded.columns, block)
        table = read_block(block, self._raw)
        if table is None:
            return None
        columns: Sequence[pa.Array | pa.ChunkedArray] | None = table.columns
        if self._options.include_schema:
            columns = _members_of_envelope(table.columns[0])
        return None if columns is None else self._finish(self._checked, columns, block)

    def _finish(
        self, schema: Schema, columns: Sequence[pa.Array | pa.ChunkedArray], block: bytes
    ) -> pa.RecordBatch | None:
        """Return the columns in the schema; None if a value is unusual, or is missing although it is required."""
        try:
            arrays = {
                field.name: finish(_in_one_chunk(column), field.type, self._options)
                for column, field in zip(columns, schema, strict=True)
            }
        except UnusualError:
            return None
        if any(arrays[field.name].null_count and not field.nullable for field in schema):
            return None
        if not all(are_finite(array) for array in arrays.values()):
            return None
        read = [arrays[name] for name in self._names]
        return None if has_whole_zeros(read, block) else pa.RecordBatch.from_arrays(read, schema=self._target)


def _takes_scalars(field: Field) -> bool:
    """Whether the column accepts every text, number and boolean of JSON, and its absence."""
    return field.nullable and isinstance(field.type, types.Text | types.Json)


def _is_flat(block: bytes) -> bool:
    """Whether there is surely nothing but scalars in the objects of a block, and no half of a surrogate pair.

    A brace inside a text makes it false, which costs time and nothing else. A reader takes only blocks of one object to
    a line, so it is enough that there are as many braces as lines."""
    if b"[" in block or np.count_nonzero(np.frombuffer(block, np.uint8) == _OPENING) != count_lines(block):
        return False
    return b"\\" not in block or _SURROGATE.search(block) is None


def _members_of_envelope(column: pa.ChunkedArray | pa.Array) -> list[pa.Array] | None:
    """Return the columns inside the envelope of Kafka Connect; None if a record has none."""
    envelope = _in_one_chunk(column)
    return None if envelope.null_count else envelope.flatten()


def _in_one_chunk(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
