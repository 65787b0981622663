"""Common rules of stored objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from engine.api.http.authentication import who_asks
from engine.control.access import ADMIN
from engine.control.context import Context
from engine.errors import RequestError, StoredInUseError
from engine.jobs import disk

if TYPE_CHECKING:
    from engine.sql.tables.create_connection import Connections

_SHOWN = 5


async def _who(request: Request) -> str:
    return who_asks(request) or ADMIN


WhoDep = Annotated[str, Depends(_who)]
"""The requester."""


def administrators(context: Context) -> Connections:
    """The connections of the administrator's file, by their names in lower case. They come before those that are kept
    here."""
    from engine.sql.tables.create_connection import read_connections  # noqa: PLC0415 - the server is there sooner

    return read_connections(context.connections) if context.connections.strip() else {}


def refuse_id(name: str) -> None:
    """Refuse a name that could be an id."""
    if any(disk.is_id(name, kind) for kind in ("cp", "ct", "udf")):
        raise RequestError(f"{name!r} is what an id looks like", hint="choose another name")


def in_use(kind: str, name: str, users: Sequence[str]) -> StoredInUseError:
    """The error for what cannot be deleted, since others use it."""
    shown = ", ".join(users[:_SHOWN]) + (f" and {len(users) - _SHOWN} more" if len(users) > _SHOWN else "")
    return StoredInUseError(f"{kind} {name!r} is used by {shown}", hint="delete those first, or deploy them without it")
