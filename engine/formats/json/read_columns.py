"""Decode the used columns of JSON blocks, and check the others.

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

from engine import types
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
from engine.formats.json.options import JsonOptions
from engine.formats.lines import count_lines
from engine.schema import Field, Schema, arrow_schema

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
        """Whether there are records that it can read."""
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
        """Whether there is a fast way for these types."""
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
        """The columns as the schema says; None if a value is unusual, or is missing where it must not be."""
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
    """Whether every text, number and boolean of JSON fits the column, and its absence."""
    return field.nullable and isinstance(field.type, types.Text | types.Json)


def _is_flat(block: bytes) -> bool:
    """Whether there is surely nothing but scalars in the objects of a block, and no half of a surrogate pair.

    A brace inside a text makes it false, which costs time and nothing else. A reader takes only blocks of one object to
    a line, so it is enough that there are as many braces as lines."""
    if b"[" in block or np.count_nonzero(np.frombuffer(block, np.uint8) == _OPENING) != count_lines(block):
        return False
    return b"\\" not in block or _SURROGATE.search(block) is None


def _members_of_envelope(column: pa.ChunkedArray | pa.Array) -> list[pa.Array] | None:
    """The columns inside the envelope of Kafka Connect; None if a record has none."""
    envelope = _in_one_chunk(column)
    return None if envelope.null_count else envelope.flatten()


def _in_one_chunk(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
