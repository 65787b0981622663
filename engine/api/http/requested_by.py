"""On whose behalf a token requests a change, such as an Airflow task; from a header, so that the body is the same for
every try, and earlier control planes accept it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Header

from engine.errors import RequestError

HEADER = "X-Requested-By"
LONGEST = 300


async def _requested_by(
    text: Annotated[
        str | None,
        Header(
            alias=HEADER,
            max_length=LONGEST,
            description="Who asks for this, in printable characters, such as `dag_id/task_id/run_id`. The pipeline's "
            "events show it beside the name of the token.",
        ),
    ] = None,
) -> str | None:
    if text is not None and not text.isprintable():
        raise RequestError(f"the header {HEADER} has characters that cannot be printed", hint="percent-encode them")
    return (text or "").strip() or None


RequestedByDep = Annotated[str | None, Depends(_requested_by)]
"""Dependency of endpoints that make changes."""
