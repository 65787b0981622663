"""Decode JSON lines of plain columns with a decoder that is generated for these columns.

For `id BIGINT, name TEXT` it is that of

    class Record: f0: int | None; f1: str | None        with the names "id" and "name" in JSON

A line becomes one small object, and each attribute of all objects a column. Only the requested fields are parsed, so
tables of two columns take half of the time of Arrow's reader, and those of seven an eighth less. It is strict: unusual
blocks are left to other decoders.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine import types
from engine.formats.json.options import JsonOptions
from engine.formats.timestamps import ARROW_TIMESTAMP
from engine.schema import Field, Schema

MOST_COLUMNS = 7
"""Largest number of columns. With more, Arrow's reader is as fast, because a Python object per value is the cost here
(`python -m benchmarks.decode`)."""
_UNNAMEABLE = re.compile(r'["\\\x00-\x1f]')
"""Characters that msgspec refuses in names, since JSON would escape them."""
_IN_UTC = pa.timestamp("ns", tz="UTC")
_WITHOUT_ZONE = pa.timestamp("ns")
_GREATEST = {32: 3.4028234663852886e38, 64: sys.float_info.max}
"""The largest float of each width in bits."""
_FARTHEST = 2**63 // 1000
"""Largest distance from 1970 in microseconds."""


@dataclass(frozen=True, slots=True)
class RawColumns:
    """The columns of a block as decoded, and the number of rows."""

    columns: Sequence[pa.Array]
    rows: int


@dataclass(frozen=True, slots=True)
class _StructField:
    """A column with the type of its attribute, and its default if it may be missing."""

    column: Field
    member: tuple[Any, ...]
    is_read: bool


class StructDecoder:
    """Decodes blocks of lines into the columns of `schema`, as Arrow's reader would (`decode_blocks.raw_schema`)."""

    def __init__(self, fields: Sequence[_StructField], raw: pa.Schema) -> None:
        names = [f"f{index}" for index in range(len(fields))]
        members = [(name, *field.member) for name, field in zip(names, fields, strict=True)]
        # those without a default come first
        members.sort(key=len)
        renamed = {name: field.column.name for name, field in zip(names, fields, strict=True)}
        self._decoder = msgspec.json.Decoder(msgspec.defstruct("Record", members, gc=False, rename=renamed))
        self.schema = Schema(tuple(field.column for field in fields if field.is_read))
        self._read = [attrgetter(name) for name, field in zip(names, fields, strict=True) if field.is_read]
        self._kinds = [raw.field(name).type for name in self.schema.names]

    def decode(self, block: bytes) -> RawColumns | None:
        """Return the columns of a block, or None if anything is unusual."""
        try:
            records = self._decoder.decode_lines(block)
            columns = [_array(read, records, kind) for read, kind in zip(self._read, self._kinds, strict=True)]
        except (msgspec.MsgspecError, pa.ArrowException, OverflowError):
            return None
        return RawColumns(columns, len(records))


def struct_decoder(
    schema: Schema, options: JsonOptions, raw: pa.Schema | None, read: frozenset[str]
) -> StructDecoder | None:
    """Return a decoder for these columns, or None if one of them is not plain. Those not in `read` are only checked."""
    if raw is None or options.include_schema or options.unstructured or not 0 < len(schema) <= MOST_COLUMNS:
        return None
    if any(_UNNAMEABLE.search(name) for name in schema.names):
        return None
    fields = [_field(field, options, read) for field in schema]
    plain = [field for field in fields if field is not None]
    return StructDecoder(plain, raw) if len(plain) == len(fields) else None


def _field(column: Field, options: JsonOptions, read: frozenset[str]) -> _StructField | None:
    """Return how a column is decoded; None for one that is only checked if the decoder alone can do that."""
    kind = _kind(column.type, options)
    if kind is None:
        return None
    checked = None if column.name in read else _checked_kind(column.type)
    if checked is None:
        return _StructField(column, (kind | None, None), is_read=True)
    return _StructField(column, (checked | None, None) if column.nullable else (checked,), is_read=False)


def _checked_kind(kind: types.Type) -> Any:
    """Return the type that accepts exactly the valid values; None if the decoder has no such type."""
    match kind:
        case types.Integer(bits, signed):
            least, greatest = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
            return Annotated[int, msgspec.Meta(ge=least, le=greatest)] if greatest < 2**63 else None
        case types.Boolean():
            return bool
        case types.Float(bits):
            return Annotated[float, msgspec.Meta(ge=-_GREATEST[bits], le=_GREATEST[bits])]
        case types.Text():
            return str
    return None


def _kind(kind: types.Type, options: JsonOptions) -> type | None:
    match kind:
        case types.Boolean():
            return bool
        case types.Integer():
            return int
        case types.Float():
            return float
        case types.Text():
            return str
        case types.Timestamp():
            return str if options.timestamp_format == "rfc3339" else int
    return None


def _array(read: Callable[[object], object], records: Sequence[object], kind: pa.DataType) -> pa.Array:
    if kind == pa.int64():
        try:
            return pa.array(np.fromiter(map(read, records), np.int64, len(records)))
        except TypeError:
            pass  # a value is missing
    values = list(map(read, records))
    return pa.array(values, kind) if kind != _WITHOUT_ZONE else _instants(pa.array(values, pa.string()))


def _instants(texts: pa.StringArray) -> pa.TimestampArray:
    """Return the instants: in microseconds, unless a text has more digits, no zone, or a year that is far away."""
    try:
        instants = texts.cast(ARROW_TIMESTAMP)
    except pa.ArrowInvalid:
        pass
    else:
        if _are_near(instants):
            return instants
    try:
        return texts.cast(_IN_UTC).cast(_WITHOUT_ZONE)
    except pa.ArrowInvalid:
        return texts.cast(_WITHOUT_ZONE)


def _are_near(instants: pa.TimestampArray) -> bool:
    """Whether all are in the range of nanoseconds: Arrow misreads others."""
    ends = pc.min_max(instants.cast(pa.int64()))
    least, greatest = ends["min"].as_py(), ends["max"].as_py()
    return least is None or (least > -_FARTHEST and greatest < _FARTHEST)
