"""Instants written and read in formats, over Arrow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa

from engine.functions.arrow.kernel import Kernel, by_row
from engine.functions.chrono import write_instant
from engine.functions.chrono_reading import read_instant

_INSTANT = pa.timestamp("us", "UTC")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _read(text: str, *patterns: str) -> datetime:
    """By the first pattern that fits. Raises ValueError when none does."""
    for pattern in patterns:
        try:
            return read_instant(text, pattern)
        except ValueError:
            continue
    raise ValueError(text)


def _read_day(text: str, *patterns: str) -> date:
    return _read(text, *patterns).date()


def _read_seconds(text: str, *patterns: str) -> int:
    return (_read(text, *patterns) - _EPOCH) // timedelta(seconds=1)


def _read_to(micros: int) -> Callable[..., datetime]:
    """Rounded down to so many microseconds."""

    def read(text: str, *patterns: str) -> datetime:
        at = _read(text, *patterns)
        return at - (at - _EPOCH) % timedelta(microseconds=micros)

    return read


TIME_KERNELS: Mapping[str, Kernel] = {
    "to_char": by_row(write_instant, pa.string()),
    "to_date": by_row(_read_day, pa.date32()),
    "to_unixtime": by_row(_read_seconds, pa.int64()),
    "to_timestamp": by_row(_read, _INSTANT),
    "to_timestamp_seconds": by_row(_read_to(1_000_000), _INSTANT),
    "to_timestamp_millis": by_row(_read_to(1_000), _INSTANT),
    "to_timestamp_micros": by_row(_read, _INSTANT),
    "to_timestamp_nanos": by_row(_read, _INSTANT),
}
