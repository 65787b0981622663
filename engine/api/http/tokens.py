"""Named tokens: create, list, revoke. Admin only."""

from __future__ import annotations

import logging
import secrets
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from engine.api.answers import Page, micros
from engine.api.http.authentication import who_asks
from engine.api.http.bodies import Body
from engine.api.http.depends import ContextDep
from engine.api.http.problems import refusals
from engine.control.access import ADMIN
from engine.control.context import Context
from engine.errors import AdminOnlyError, RequestError
from engine.jobs.controller import hash_key
from engine.store.access import tokens
from engine.store.access.tokens import NamedToken
from engine.values.instants import from_micros, to_micros

LOG = logging.getLogger(__name__)
ROUTER = APIRouter(prefix="/tokens", tags=["tokens"])


async def _admin(request: Request) -> str:
    who = who_asks(request)
    if who != ADMIN:
        raise AdminOnlyError(
            f"the token {who!r} may not look after tokens", hint="send the token in the file of the data directory"
        )
    return who


AdminDep = Annotated[str, Depends(_admin)]


class TokenRequest(Body):
    """A new named token."""

    name: str = Field(
        max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]*$", description="Who has it; events name it."
    )
    expires_at: Annotated[int, Field(ge=0, le=253_402_300_799_000_000)] | None = Field(
        default=None, description="When it ends; without it, when it is revoked."
    )


class Token(BaseModel):
    """A named token; its value is never shown."""

    name: str = Field(description="Who has it; events name it.")
    created_at: int = Field(description="When it was made.")
    created_by: str = Field(description="Who made it.")
    expires_at: int | None = Field(description="When it ends.")
    revoked_at: int | None = Field(description="When it was taken back.")
    valid: bool = Field(description="Whether it is let in now.")


class FreshToken(Token):
    """A new token."""

    token: str = Field(description="Its value, which is shown this once.")


@ROUTER.post("", status_code=201, responses=refusals(400, 409))
def create(body: TokenRequest, who: AdminDep, context: ContextDep) -> FreshToken:
    """Create a named token. Only this response has its value."""
    now = context.clock()
    expires_at = None if body.expires_at is None else from_micros(body.expires_at)
    if body.name == ADMIN or (expires_at is not None and expires_at <= now):
        wrong = "the name admin is taken" if body.name == ADMIN else "the token would have ended already"
        raise RequestError(wrong, hint="choose another name, or a later end")
    value = f"arroyo_{secrets.token_urlsafe(32)}"
    token = NamedToken(hash_key(value), body.name, now, who, expires_at)
    with context.database.writing() as connection:
        tokens.add_named(connection, token)
        _load(connection, context)
    LOG.info("token %s was made by %s", token.name, who)
    return FreshToken(**_shown(token, now).model_dump(), token=value)


@ROUTER.get("")
def list_all(who: AdminDep, context: ContextDep) -> Page[Token]:
    """List the named tokens, oldest first, including revoked and expired ones."""
    now = context.clock()
    with context.database.reading() as connection:
        return Page(data=[_shown(token, now) for token in tokens.named(connection)])


@ROUTER.delete("/{name}", status_code=204, responses=refusals(404))
def revoke(name: str, who: AdminDep, context: ContextDep) -> None:
    """Revoke a token."""
    with context.database.writing() as connection:
        tokens.revoke(connection, name, context.clock())
        _load(connection, context)
    context.changes.somebody_has_left()
    LOG.info("token %s was revoked by %s", name, who)


def _load(connection: Connection, context: Context) -> None:
    context.admission.load(tokens.named(connection))


def _shown(token: NamedToken, now: datetime) -> Token:
    return Token(
        name=token.name,
        created_at=to_micros(token.created_at),
        created_by=token.created_by,
        expires_at=micros(token.expires_at),
        revoked_at=micros(token.revoked_at),
        valid=token.is_valid(now),
    )
