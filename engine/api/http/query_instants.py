"""Instants in query parameters."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from engine.errors import RequestError
from engine.values.instants import from_micros

_DAY_OR_MICROS = re.compile(r"[0-9]{8}")


def read_instant(name: str, text: str) -> datetime:
    """An instant as it was asked about; one without a zone is in UTC."""
    if _DAY_OR_MICROS.fullmatch(text):
        # a day without dashes is ISO 8601, too: as microseconds it would open every gate
        raise RequestError(
            f"{name}: {text!r} may be a day, or microseconds of the first minutes of 1970",
            hint="write a day with dashes, as in 2026-01-31, and an instant of those minutes as 1970-01-01T00:00:20Z",
        )
    try:
        if text.lstrip("-").isdigit():
            return from_micros(int(text))
        instant = datetime.fromisoformat(text)
        # what is in no year of UTC's, whatever the zone says, can neither be compared nor kept
        return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise RequestError(
            f"{name}: {text!r} is not an instant", hint="write microseconds since 1970, or ISO 8601"
        ) from error
