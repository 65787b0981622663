"""Format and parse instants over Arrow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from engine.arrow.functions.kernel import Kernel, by_row
from engine.functions.parsers.strftime import read_instant, write_instant

_INSTANT = pa.timestamp("us", "UTC")
_PLAIN = re.compile(r"(?:%[YmdHMSFT]|[ -$&-~])*")


def _read(text: str, *patterns: str) -> datetime:
    """Parse by the first pattern that fits. Raise ValueError if none does."""
    for pattern in patterns:
        try:
            return read_instant(text, pattern)
        except ValueError:
            continue
    raise ValueError(text)


_BY_ROW = by_row(_read, _INSTANT)


def _instants(texts: pa.Array, *patterns: pa.Array) -> pa.Array:
    """Parse texts into instants. Most calls have one plain pattern, which Arrow parses a hundred times as fast."""
    pattern = _only_value(patterns[0]) if len(patterns) == 1 else None
    if pattern is None or not _is_plain(pattern):
        return _BY_ROW(texts, *patterns)
    quick = _read_plain(texts, pattern)
    unread = pc.and_(pc.is_null(quick), pc.is_valid(texts))
    if not pc.any(unread).as_py():
        return quick
    return pc.replace_with_mask(quick, unread, _BY_ROW(texts.filter(unread), patterns[0].filter(unread)))


def _only_value(column: pa.Array) -> str | None:
    """Return the value that all rows have, if there is one."""
    values = column.unique()
    return values[0].as_py() if len(values) == 1 else None


def _is_plain(pattern: str) -> bool:
    """Whether it names a whole day and nothing that Arrow reads otherwise than we do."""
    letters = set(re.findall("%(.)", pattern.replace("%F", "%Y-%m-%d")))
    return _PLAIN.fullmatch(pattern) is not None and letters >= {"Y", "m", "d"}


def _read_plain(texts: pa.Array, pattern: str) -> pa.Array:
    """Parse instants; NULL for text that would not be formatted the same: Arrow reads the 30th of February as a day of
    March."""
    spelt = pattern.replace("%F", "%Y-%m-%d").replace("%T", "%H:%M:%S")
    instants = pc.strptime(texts, format=spelt, unit="s", error_is_null=True)
    is_exact = pc.fill_null(pc.equal(pc.strftime(instants, format=spelt), texts), False)
    return pc.if_else(is_exact, instants, pa.scalar(None, instants.type)).cast(pa.timestamp("us")).cast(_INSTANT)


def _round_down(unit: str, kind: pa.DataType) -> Kernel:
    """Return a kernel that rounds down to the unit."""
    return lambda *columns: pc.floor_temporal(_instants(*columns), unit=unit).cast(kind)


def _seconds(*columns: pa.Array) -> pa.Array:
    return pc.floor_temporal(_instants(*columns), unit="second").cast(pa.timestamp("s", "UTC")).cast(pa.int64())


TIME_KERNELS: Mapping[str, Kernel] = {
    "to_char": by_row(write_instant, pa.string()),
    "to_date": _round_down("day", pa.date32()),
    "to_unixtime": _seconds,
    "to_timestamp": _instants,
    "to_timestamp_seconds": _round_down("second", _INSTANT),
    "to_timestamp_millis": _round_down("millisecond", _INSTANT),
    "to_timestamp_micros": _instants,
    "to_timestamp_nanos": _instants,
}
