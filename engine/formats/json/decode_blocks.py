"""Decode blocks of JSON lines with Arrow's reader; unusual blocks are left to other decoders.

Arrow parses some types as others, so a block takes two steps. For `at TIMESTAMP, price DECIMAL(5, 2), raw BYTEA`:

    raw_schema     at: timestamp[ns]    price: decimal(5, 2)   raw: string
    read_block     the columns of these types, or None if the block is not one object per line
    finish         at: timestamp[us, UTC], cut to microseconds; raw: the decoded base64

`UnusualError` means that a value might differ from the result of `decode_rows.py`.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from engine import types
from engine.formats.json.decode_rows import MOST_EXACT, read_decimal_bytes
from engine.formats.json.options import JsonOptions
from engine.formats.lines import line_ends, split_lines
from engine.formats.timestamps import ARROW_TIMESTAMP, from_millis, from_nanos
from engine.schema import Schema, to_arrow

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_OPENING, _CLOSING = b"{}"
_CONSTANT = re.compile(rb"[:,\[]\s*-?(?:NaN|Inf)")
_WHOLE_ZERO = re.compile(rb"-0(?![.eE0-9])")


def raw_schema(schema: Schema, options: JsonOptions) -> pa.Schema | None:
    """Return the types to request from Arrow's reader; None if it cannot read the values of a column."""
    fields = [(field.name, _raw_type(field.type, options)) for field in schema]
    return None if any(kind is None for _, kind in fields) else pa.schema(fields)


class UnusualError(Exception):
    """A value that only the record-by-record decoder can handle."""


def read_block(block: bytes, schema: pa.Schema) -> pa.Table | None:
    """Return the block as Arrow reads it, or None if it is not one object per line."""
    lines = count_objects(block)
    if lines is None or _has_constants(block):
        return None
    try:
        table = pj.read_json(
            pa.BufferReader(block),
            read_options=pj.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
    except pa.ArrowException:
        return None
    return table if table.num_rows == lines else None


def _has_constants(block: bytes) -> bool:
    """Whether the bare words NaN or Infinity may occur, which Arrow's reader accepts and JSON lacks."""
    return (b"NaN" in block or b"Inf" in block) and _CONSTANT.search(block) is not None


def count_objects(block: bytes) -> int | None:
    """Count the lines if each begins and ends as an object; else return None.

    Arrow takes newlines for blanks: it reads `{}{}` and a blank line as two rows, and `null` as a row of NULLs, or
    crashes when it comes first. But nowhere inside an object may `{` follow `}`, so where all lines end and begin like
    this, each holds at least one whole object, and as many rows as lines means one in each.
    """
    block = block.removeprefix(_BYTE_ORDER_MARK)
    if not block:
        return None
    text = np.frombuffer(block, np.uint8)
    ends = line_ends(block)
    begins = np.concatenate(([0], ends[:-1] + 1))
    if (text[begins] == _OPENING).all() and (text[ends - 1] == _CLOSING).all():
        return len(ends)
    lines = pc.ascii_trim(split_lines(block).cast(pa.string()), " \t\r")
    are_objects = pc.and_(pc.starts_with(lines, "{"), pc.ends_with(lines, "}"))
    return len(lines) if pc.all(are_objects).as_py() else None


def _raw_type(kind: types.Type, options: JsonOptions) -> pa.DataType | None:
    """Return the type to request from Arrow's reader; None if it cannot read such values."""
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


def finish(array: pa.Array, kind: types.Type, options: JsonOptions) -> pa.Array:
    """Convert the values that Arrow has read to values of `kind`."""
    match kind:
        case types.Integer(signed=False):
            _check_range(array, kind)
        case types.Float(bits=32):
            return array.cast(pa.float32(), safe=False)
        case types.Timestamp():
            return _timestamps(array, options)
        case types.Decimal(scale=scale) if options.decimal_encoding == "bytes":
            return _read_texts(array, lambda text: read_decimal_bytes(text, scale), to_arrow(kind))
        case types.Decimal():
            _validate(array)
        case types.Date():
            return _days(array)
        case types.Bytes():
            return _read_texts(array, lambda text: base64.b64decode(text, validate=True), pa.binary())
        case types.Struct(members) if not _is_plain(kind):
            parts = [finish(part, member.type, options) for part, member in zip(array.flatten(), members, strict=True)]
            return pa.StructArray.from_arrays(parts, fields=list(to_arrow(kind)), mask=_nulls_of(array))
        case types.Array(element) if not _is_plain(kind):
            values = finish(array.values, element, options)
            return pa.ListArray.from_arrays(array.offsets, values, type=to_arrow(kind), mask=_nulls_of(array))
    return array


def _nulls_of(array: pa.Array) -> pa.BooleanArray | None:
    """Return a mask of the NULLs; None if there are none."""
    return array.is_null() if array.null_count else None


def _days(array: pa.StringArray) -> pa.Array:
    try:
        return array.cast(pa.date32())
    except pa.ArrowException as error:
        raise UnusualError from error


def _timestamps(array: pa.Array, options: JsonOptions) -> pa.TimestampArray:
    if options.timestamp_format != "rfc3339":
        _check_exact(array)
    match options.timestamp_format:
        case "unix_millis":
            return from_millis(array)
        case "unix_micros":
            return array.cast(ARROW_TIMESTAMP)
        case "rfc3339":
            return array if array.type == ARROW_TIMESTAMP else from_nanos(array)


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
    least, greatest = _least_and_greatest(array)
    if not (kind.holds(least) and kind.holds(greatest)):
        raise UnusualError


def _check_exact(array: pa.Int64Array) -> None:
    """Refuse whole numbers that a double cannot represent exactly, which record by record are no instants."""
    least, greatest = _least_and_greatest(array)
    if max(-least, greatest) > MOST_EXACT:
        raise UnusualError


def _least_and_greatest(array: pa.Array) -> tuple[int, int]:
    """Return the least and the greatest value; zeros if all are NULL."""
    limits = pc.min_max(array).as_py()
    return (0, 0) if limits["min"] is None else (limits["min"], limits["max"])


def are_finite(array: pa.Array) -> bool:
    """Whether all floats are finite: readers and casts turn numbers that are too large into infinity."""
    if pa.types.is_struct(array.type):
        return all(are_finite(part) for part in array.flatten())
    if pa.types.is_list(array.type):
        return are_finite(array.values)
    return not pa.types.is_floating(array.type) or pc.all(pc.is_finite(array)).as_py() is not False


def has_whole_zeros(arrays: Iterable[pa.Array], block: bytes) -> bool:
    """Whether the number -0 may have become -0.0 in a column of floats: record by record it is the integer 0."""
    return any(_has_zeros_below_zero(array) for array in arrays) and _WHOLE_ZERO.search(block) is not None


def _has_zeros_below_zero(array: pa.Array) -> bool:
    if pa.types.is_struct(array.type):
        return any(_has_zeros_below_zero(part) for part in array.flatten())
    if pa.types.is_list(array.type):
        return _has_zeros_below_zero(array.values)
    if not pa.types.is_floating(array.type):
        return False
    numbers = array.to_numpy(zero_copy_only=False)
    return bool((np.signbit(numbers) & (numbers == 0)).any())


def _read_texts(array: pa.StringArray, read: Callable[[str], object], kind: pa.DataType) -> pa.Array:
    try:
        values = pa.array([None if text is None else read(text) for text in array.to_pylist()], kind)
    except (binascii.Error, ValueError, ArithmeticError, pa.ArrowException) as error:
        raise UnusualError from error
    _validate(values)
    return values


def _validate(array: pa.Array) -> None:
    """Refuse decimals with too many digits, which Arrow accepts silently."""
    try:
        array.validate(full=True)
    except pa.ArrowException as error:
        raise UnusualError from error
