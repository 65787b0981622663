"""Timestamps in JSON: conversion between text and microseconds since 1970.

Rules for numbers in text formats: finite, in range, and decimals rounded like CAST.

1e999, 1e39      too large for DOUBLE, for FLOAT: OverflowError
"inf", "NaN"     not a number: ValueError
1.005            1.01 as DECIMAL(10, 2)
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext

import pyarrow as pa
import pyarrow.compute as pc

from engine import types

ARROW_TIMESTAMP = pa.timestamp("us", tz="UTC")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_YEAR_0 = -62_167_219_200_000_000
_YEAR_10000 = 253_402_300_800_000_000
_TEXT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d)(?::(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?(?:Z|([+-])(\d\d)(?::?(\d\d))?)?)?",
    re.ASCII,
)


def read_timestamp(text: str) -> int | None:
    """Return microseconds since 1970 of an ISO 8601 text; no zone means UTC, and digits after the microseconds are
    truncated. None if it is not a timestamp."""
    match = _TEXT.fullmatch(text)
    if match is None:
        return None
    *instant_parts, fraction, sign, zone_hours, zone_minutes = match.groups(default="0")
    year, month, day, hour, minute, second = map(int, instant_parts)
    try:
        instant = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    micros = (instant - _EPOCH) // _MICROSECOND + int(fraction.ljust(6, "0")[:6])
    if int(zone_hours) > 23 or int(zone_minutes) > 59:
        return None
    zone = (int(zone_hours) * 60 + int(zone_minutes)) * 60_000_000
    return micros + zone if sign == "-" else micros - zone


def from_nanos(array: pa.TimestampArray) -> pa.TimestampArray:
    """Convert nanoseconds without a zone to our timestamps; digits after the microseconds are truncated."""
    smallest = pc.min(array.cast(pa.int64())).as_py()
    if smallest is not None and smallest < 0:
        # a plain cast cuts towards zero, which would move instants before 1970 forward
        array = pc.floor_temporal(array, unit="microsecond")
    return array.cast(pa.timestamp("us"), safe=False).cast(ARROW_TIMESTAMP)


def from_millis(array: pa.Int64Array) -> pa.TimestampArray:
    """Convert milliseconds since 1970 to our timestamps."""
    return array.cast(pa.timestamp("ms", tz="UTC")).cast(ARROW_TIMESTAMP)


def to_millis(array: pa.TimestampArray) -> pa.Int64Array:
    """Convert to milliseconds since 1970, rounded down."""
    micros = array.cast(pa.int64())
    return pc.divide(pc.subtract(micros, _modulo(micros, 1000)), 1000)


def to_text(array: pa.TimestampArray) -> pa.StringArray:
    """Format as ISO 8601 without a zone, with the fewest digits after the seconds that hold the value: none, three or
    six."""
    micros = array.cast(pa.int64())
    fraction = _modulo(micros, 1_000_000)
    seconds = pc.subtract(micros, fraction).cast(pa.timestamp("us")).cast(pa.timestamp("s")).cast(pa.string())
    text = _with_t(seconds, pc.min_max(micros).as_py())
    if not pc.any(pc.not_equal(fraction, 0)).as_py():
        return text
    short = _modulo(fraction, 1000)
    millis = pc.utf8_lpad(pc.divide(fraction, 1000).cast(pa.string()), 3, "0")
    tail = pc.binary_join_element_wise("", millis, ".")
    if pc.any(pc.not_equal(short, 0)).as_py():
        whole = pc.binary_join_element_wise("", pc.utf8_lpad(fraction.cast(pa.string()), 6, "0"), ".")
        tail = pc.if_else(pc.equal(short, 0), tail, whole)
    tail = pc.if_else(pc.equal(fraction, 0), "", tail)
    return pc.binary_join_element_wise(text, tail, "")


def _with_t(seconds: pa.StringArray, extremes: Mapping[str, int | None]) -> pa.StringArray:
    """Put a T between day and hour. ISO 8601 requires a sign for years with more than four digits: a window may end
    after the year 9999."""
    least, greatest = extremes["min"], extremes["max"]
    if least is None or greatest is None or (least >= _YEAR_0 and greatest < _YEAR_10000):
        # only years of four digits have the blank at this place
        return pc.binary_replace_slice(seconds, start=10, stop=11, replacement="T").cast(pa.string())
    return pc.replace_substring_regex(pc.replace_substring(seconds, " ", "T"), r"^(\d{5,}-)", r"+\1")


def _modulo(array: pa.Int64Array, by: int) -> pa.Int64Array:
    """Return the remainder of a division that rounds towards the past; Arrow has no such kernel."""
    remainder = pc.subtract(array, pc.multiply(pc.divide(array, by), by))
    return pc.if_else(pc.less(remainder, 0), pc.add(remainder, by), remainder)


NON_FINITE = frozenset({"NaN", "Infinity", "-Infinity"})
"""Spellings of non-finite numbers in Protobuf and Java."""
_TOO_LARGE = float.fromhex("0x1.ffffffp+127")
"""Smallest double that becomes infinity in 32 bits."""


def finite(value: float | str, kind: types.Float) -> float:
    """Return a number, or that of a text. Raise OverflowError if it is out of range, ValueError if it is none."""
    if isinstance(value, str) and not any(letter.isdecimal() for letter in value):
        raise ValueError(value)
    if isinstance(value, str) and "_" in value:
        raise ValueError(value)
    number = float(value)
    if not math.isfinite(number) or (kind.bits == 32 and abs(number) >= _TOO_LARGE):
        raise OverflowError(value)
    return number


def fitting(number: Decimal, kind: types.Decimal) -> Decimal:
    """Return the number with the places of the type, rounded half away from zero. Raises InvalidOperation if it has
    too many digits before the point."""
    with localcontext(prec=kind.precision):
        return number.quantize(Decimal(1).scaleb(-kind.scale), rounding=ROUND_HALF_UP)
