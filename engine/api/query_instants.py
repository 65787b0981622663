"""Instants in the query of a request."""

from __future__ import annotations

from datetime import UTC, datetime

from engine.errors import RequestError
from engine.instants import from_micros


def read_instant(name: str, text: str) -> datetime:
    """An instant as it was asked about; one without a zone is in UTC."""
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
