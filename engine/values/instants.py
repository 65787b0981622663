"""Instants in the API and the store: microseconds since 1970, UTC."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]
"""Returns the current time: an aware instant in UTC."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FAR_FUTURE = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
"""Watermark of a finished job."""


def now() -> datetime:
    """Return the time of this machine."""
    return datetime.now(UTC)


def to_micros(instant: datetime) -> int:
    """Convert to microseconds since 1970, exactly."""
    return (instant - EPOCH) // timedelta(microseconds=1)


def from_micros(micros: int) -> datetime:
    """Return the instant so many microseconds after 1970."""
    return EPOCH + timedelta(microseconds=micros)
