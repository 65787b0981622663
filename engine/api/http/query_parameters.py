"""Refuse unknown query parameters, like unknown fields of a body.

    GET /pipelines/orders/watermark?past=...&timeout_second=50     refused: did you mean timeout_seconds?

Drivers are exempt: a newer driver may send more than this control plane knows.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, datetime
from difflib import get_close_matches

from fastapi import Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query
from fastapi.routing import APIRoute

from engine.errors import RequestError, UnknownParameterError
from engine.values.instants import from_micros

_SHORT = 40
_LISTED = 12


async def refuse_unknown_parameters(request: Request) -> None:
    """Raise UnknownParameterError for the first query parameter that the route of the request does not have."""
    route = request.scope.get("route")
    if not request.url.query or not isinstance(route, APIRoute):
        return
    known = _parameters(route)
    for name in request.query_params:
        if name not in known:
            shown = name if len(name) <= _SHORT else name[:_SHORT] + "..."
            raise UnknownParameterError(
                f"the query parameter {shown!r} is not known here",
                hint=near_name(name, known, "the request takes none"),
            )


def near_name(name: str, known: Collection[str], without: str) -> str:
    """Return the hint for an unknown name: the most similar one, or all names."""
    near = get_close_matches(name.lower(), list(known), n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    if not known:
        return without
    listed = sorted(known)
    return f"known are {', '.join(listed[:_LISTED])}" + (", ..." if len(listed) > _LISTED else "")


def _parameters(route: APIRoute) -> frozenset[str]:
    """Return the names of the query parameters of a route and of its dependencies."""
    return frozenset(field.alias for field in get_flat_params(route.dependant) if isinstance(field.field_info, Query))


_DAY_OR_MICROS = re.compile(r"[0-9]{8}")


def read_instant(name: str, text: str) -> datetime:
    """Return the requested instant; one without a zone is in UTC."""
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
