"""Casts of Arrow arrays, with the text formats, units and errors of the casts in Spark."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from engine import types
from engine.errors import DataError
from engine.schema import to_arrow

_INSTANT = pa.timestamp("us", "UTC")
_MOMENT = re.compile(
    r"\s*(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d+))?)?\s*(?:(Z|UTC|GMT)|([+-])(\d{1,2})(?::?(\d{2}))?)?)?\s*"
)


def cast_array(values: pa.Array, source: types.Type, target: types.Type, *, lenient: bool = False) -> pa.Array:
    """The values, which are of type `source`, as `target`; what does not fit raises, or is NULL when lenient."""
    match source, target:
        case types.Text() | types.Json(), types.Timestamp():
            return _text_to_instants(values, lenient=lenient)
        case types.Text() | types.Json(), types.Integer() | types.Float():
            values = pc.replace_substring_regex(pc.utf8_trim_whitespace(values), r"^\+(\d|\.)", r"\1")
        case types.Timestamp(), types.Text():
            text = pc.strftime(values, format="%Y-%m-%dT%H:%M:%S")
            return pc.replace_substring_regex(text, r"(\.000000|000)$", "")
        case types.Timestamp(), types.Integer():
            return pc.multiply_checked(values.cast(pa.int64()), 1000)
        case types.Integer(), types.Timestamp():
            return from_nanos(values.cast(pa.int64()))
        case types.Timestamp(), types.Date():
            return pc.floor_temporal(values, unit="day").cast(pa.date32())
        case types.Float(), types.Integer():
            values = pc.trunc(values)
        case types.Integer(), types.Float():
            return values.cast(to_arrow(target), safe=False)
    if isinstance(target, types.Integer) and not target.signed:
        return _in_range(values.cast(to_arrow(target)), target)
    return values.cast(to_arrow(target), safe=not isinstance(source, types.Float) or isinstance(target, types.Integer))


def to_instants(values: pa.Array) -> pa.Array:
    """Text, seconds after the epoch, or instants as they are, as instants."""
    if pa.types.is_timestamp(values.type):
        return values
    if pa.types.is_string(values.type):
        return _text_to_instants(values)
    if pa.types.is_integer(values.type):
        return pc.multiply_checked(values, pa.scalar(1_000_000, pa.int64())).cast(_INSTANT)
    micros = pc.round(pc.multiply(values, 1e6), round_mode="half_towards_infinity")
    return micros.cast(pa.int64()).cast(_INSTANT)


def from_nanos(numbers: pa.Array) -> pa.Array:
    """The instants so many nanoseconds after the epoch, rounded down to the microsecond."""
    micros = pc.divide(numbers, 1000)
    below = pc.less(numbers, pc.multiply(micros, 1000))
    return pc.subtract(micros, below.cast(pa.int64())).cast(_INSTANT)


def _text_to_instants(texts: pa.Array, *, lenient: bool = False) -> pa.Array:
    """Most text is of one plain form, all with a zone or all without, which Arrow reads by itself; the rest is read
    value by value."""
    for kind in (pa.timestamp("us"), _INSTANT):
        try:
            return texts.cast(kind).cast(_INSTANT)
        except pa.ArrowInvalid:
            continue
    return pa.array([_read(text, lenient=lenient) for text in texts.to_pylist()], _INSTANT)


def _read(text: str | None, *, lenient: bool) -> datetime | None:
    if text is None:
        return None
    parts = _MOMENT.fullmatch(text)
    try:
        if parts is not None:
            return _moment(*parts.groups())
    except (ValueError, OverflowError):
        pass
    if lenient:
        return None
    raise DataError(f"{text!r} is not a timestamp", hint="write it as 2024-01-31 23:59:59 or 2024-01-31T23:59:59Z")


def _moment(*parts: str | None) -> datetime:
    year, month, day, hour, minute, second = (int(part or 0) for part in parts[:6])
    fraction, _, sign, zone_hours, zone_minutes = parts[6:]
    micros = int((fraction or "0")[:6].ljust(6, "0"))
    ahead = timedelta(hours=int(zone_hours or 0), minutes=int(zone_minutes or 0))
    local = datetime(year, month, day, hour, minute, second, micros, tzinfo=UTC)
    return local + ahead if sign == "-" else local - ahead


def _in_range(values: pa.Array, target: types.Integer) -> pa.Array:
    outside = pc.or_(pc.less(values, target.least), pc.greater(values, target.largest))
    if pc.any(outside).as_py():
        raise DataError(f"{values.filter(outside)[0]} is not in the range of {target}")
    return values
