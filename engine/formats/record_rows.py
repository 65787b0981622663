"""Convert records, as plain Python values, to rows: for formats that Arrow cannot read.

For the columns `id BIGINT NOT NULL, at TIMESTAMP, note TEXT`:

    {"ID": 7, "at": 1696852800000000, "extra": 1}   7, 2023-10-09 12:00:00, NULL
    {"id": "seven"}                                 a bad record: column 'id': expected BIGINT, found "seven"
    {"at": None}                                    a bad record: column 'id' is NOT NULL

Ids of rows, derived from their keys.

The id identifies a changelog row in every task and after every restart, so it depends on the values alone: an integer
is used as is, anything else as a digest of its text, and several columns are combined in order.
"""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal as Exact
from functools import reduce
from hashlib import blake2b
from typing import TYPE_CHECKING

import pyarrow as pa

from engine import types
from engine.errors import message_of
from engine.formats.base import BadRecord, Decoded
from engine.formats.timestamps import finite, fitting
from engine.schema import Field, Schema, arrow_schema

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Record = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ParsedRecord:
    """A record, or the error; `index` is that of its payload."""

    index: int
    raw: bytes
    record: Record | None
    failure: str = ""


def to_rows(records: Sequence[ParsedRecord], schema: Schema) -> Decoded:
    """Return the records as rows; columns are found by name, without regard to case, and a missing column is NULL."""
    good: list[tuple[int, tuple[object, ...]]] = []
    bad: list[BadRecord] = []
    fields = [(field, field.name.lower()) for field in schema]
    for parsed in records:
        if parsed.record is None:
            bad.append(BadRecord(parsed.index, parsed.failure, parsed.raw))
            continue
        values = {name.lower(): value for name, value in parsed.record.items()}
        try:
            good.append((parsed.index, tuple(_column(field, values.get(name)) for field, name in fields)))
        except (ValueError, OverflowError, ArithmeticError, pa.ArrowException) as error:
            bad.append(BadRecord(parsed.index, message_of(error), parsed.raw))
    origin = pa.array([index for index, _ in good], pa.int64())
    return Decoded(_to_batch([values for _, values in good], arrow_schema(schema)), origin, bad)


def _to_batch(rows: Sequence[tuple[object, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _column(field: Field, value: object) -> object:
    if value is None:
        if not field.nullable:
            raise ValueError(f"column {field.name!r} is NOT NULL")
        return None
    try:
        return to_value(field.type, value)
    except (TypeError, ValueError, ArithmeticError, pa.ArrowException) as error:
        raise ValueError(f"column {field.name!r}: expected {field.type}, found {_shown(value)}") from error


def to_value(kind: types.Type, value: object) -> object:
    """Return a value in Arrow's form for a type. Raise ValueError or TypeError if it does not have that type."""
    if value is None:
        return None
    if isinstance(value, bool):
        return _from_boolean(kind, value)
    match kind, value:
        case types.Integer(), int() if kind.holds(value):
            return value
        case types.Float(), float() if not math.isfinite(value):
            return value
        case types.Float(), int() | float():
            return finite(value, kind)
        case types.Decimal(), int() | Exact() | str():
            return fitting(Exact(value), kind)
        case types.Text(), str():
            return value
        case types.Text(), int() | float() | Exact():
            return json.dumps(value, default=str)
        case types.Bytes(), bytes():
            return value
        case types.Json(), _:
            return as_json(value)
        case types.Timestamp(), datetime():
            return value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        case types.Timestamp(), int():
            return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=value)
        case types.Date(), date() if not isinstance(value, datetime):
            return value
        case types.Interval(), timedelta():
            return value
        case types.Interval(), int():
            return timedelta(microseconds=value)
        case types.Struct(members), Mapping():
            parts = {str(name).lower(): part for name, part in value.items()}
            return {member.name: to_value(member.type, parts.get(member.name.lower())) for member in members}
        case types.Array(element), list() | tuple():
            return [to_value(element, part) for part in value]
    raise ValueError


def _from_boolean(kind: types.Type, value: bool) -> object:
    """Return a boolean as a value of a type; it is no number, although Python's bool is an int."""
    match kind:
        case types.Boolean():
            return value
        case types.Text() | types.Json():
            return as_json(value)
    raise ValueError


def as_json(value: object) -> str:
    """Return a value as JSON text: times as RFC 3339, bytes as base64, exact numbers as numbers."""
    return json.dumps(value, default=_plain, ensure_ascii=False, separators=(",", ":"))


_PLAIN: Mapping[type, Callable[..., object]] = {
    bytes: lambda value: b64encode(value).decode(),
    datetime: lambda value: value.astimezone(UTC).isoformat().replace("+00:00", "Z"),
    date: lambda value: value.isoformat(),
    timedelta: lambda value: value // timedelta(microseconds=1),
    Exact: float,
}


def _plain(value: object) -> object:
    to_plain = _PLAIN.get(type(value), str)
    return to_plain(value)


def _shown(value: object) -> str:
    text = as_json(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def row_ids(keys: Sequence[pa.Array]) -> pa.Int64Array:
    """Return the id of each row, from the values of its key columns, none of which is NULL."""
    import numpy as np  # noqa: PLC0415 - `arroyo check` must not pay for Arrow
    import pyarrow as pa  # noqa: PLC0415

    numbers = [_numbers(key) for key in keys]
    with np.errstate(over="ignore"):
        mixed = reduce(lambda left, right: _mixed(left * np.uint64(31) + right), numbers[1:], _mixed(numbers[0]))
    return pa.array(mixed.view(np.int64))


def _numbers(key: pa.Array) -> npt.NDArray[np.uint64]:
    """Return a number for each value: an integer's own, else a digest of its text."""
    import numpy as np  # noqa: PLC0415 - see `row_ids`
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    if kinds.is_integer(key.type) or kinds.is_timestamp(key.type):
        return np.asarray(key.cast(pa.int64()).to_numpy(zero_copy_only=False)).view(np.uint64)
    codes = key.dictionary_encode()
    digests = [blake2b(str(value).encode(), digest_size=8).digest() for value in codes.dictionary.to_pylist()]
    positions: npt.NDArray[np.int32] = codes.indices.to_numpy(zero_copy_only=False)
    return np.frombuffer(b"".join(digests), np.uint64)[positions]


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Spread adjacent numbers far apart, by the finalizer of splitmix64."""
    import numpy as np  # noqa: PLC0415 - see `row_ids`

    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
