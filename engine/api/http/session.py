"""Browser sessions: log in with a token or a one-time link, and log out. Scripts cannot read the cookie.

Named tokens: create, list, revoke. Admin only.
"""

from __future__ import annotations

import logging
import secrets
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from engine.api.answers import Page, micros
from engine.api.http.authentication import PAGE_HEADER, Rules, caller, cookie_name, session_cookie, who_asks
from engine.api.http.bodies import Body
from engine.api.http.problems import ContextDep, refusals
from engine.control.access import ADMIN, Caller
from engine.control.context import Context
from engine.errors import AdminOnlyError, AuthError, CrossSiteError, RequestError
from engine.jobs.controller import hash_key
from engine.store.access import tokens
from engine.store.access.tokens import NamedToken
from engine.values.instants import from_micros, to_micros

ROUTER = APIRouter(prefix="/session", tags=["session"])


class SessionRequest(Body):
    """Credentials: a token or a one-time link."""

    token: str | None = Field(default=None, max_length=512, description="A token of this control plane.")
    code: str | None = Field(default=None, max_length=512, description="The code of a one-time link.")


class Session(BaseModel):
    """The logged-in user."""

    who: str = Field(description="The name of the token; `admin` for the first one.")
    version: str = Field(description="The version of the control plane.")
    through: str | None = Field(
        default=None, description="The proxy that authenticated the user, such as Airflow; null if there is none."
    )
    may_change: bool = Field(default=True, description="Whether the user may change something, and not only read.")


class Visitor(BaseModel):
    """The current user, if logged in."""

    session: Session | None = Field(description="Null when no user is logged in.")


class Link(BaseModel):
    """One-time login link."""

    path: str = Field(description="What to open at this control plane; it works once.")
    expires_at: int = Field(description="When it works no more.")


@ROUTER.post("", responses=refusals(400))
def begin(body: SessionRequest, request: Request, response: Response, context: ContextDep) -> Session:
    """Start a browser session: the response sets a cookie. Only a page of this control plane may do this, with the
    header `X-Arroyo-Page`."""
    if PAGE_HEADER not in request.headers:
        raise CrossSiteError(f"the request has no header {PAGE_HEADER}", hint="only the page begins sessions")
    who = _let_in(body, request, context)
    cookie, _ = context.sessions.begin(who.token_hash, context.clock())
    is_https = "https" in (request.url.scheme, request.headers.get("origin", "").partition(":")[0])
    name = cookie_name(request.headers)
    response.set_cookie(name, cookie, path="/", httponly=True, samesite="strict", secure=is_https)
    return Session(who=who.name, version=context.version)


@ROUTER.get("")
def show(request: Request, context: ContextDep) -> Visitor:
    """Show the current user; needs no token."""
    who = who_asks(request)
    return Visitor(session=None if who is None else Session(who=who, version=context.version))


@ROUTER.delete("", status_code=204)
def end(request: Request, context: ContextDep) -> Response:
    """End the session of the request's cookie."""
    now = context.clock()
    ended = context.sessions.end(session_cookie(request.headers), now)
    if ended is not None:
        with context.database.writing() as connection:
            tokens.revoke_session(connection, *ended, now)
        context.changes.somebody_has_left()
    response = Response(status_code=204)
    response.delete_cookie(cookie_name(request.headers), path="/", httponly=True, samesite="strict")
    return response


@ROUTER.post("/link", status_code=201)
def make_link(request: Request, context: ContextDep) -> Link:
    """Create a link that opens the web UI once, with the rights of this token."""
    code, ends = context.sessions.make_link(caller(request).token_hash, context.clock())
    return Link(path=f"/#/login/{code}", expires_at=to_micros(ends))


def _let_in(body: SessionRequest, request: Request, context: Context) -> Caller:
    rules: Rules = request.app.state.rules
    if body.code is None:
        who = context.admission.caller(body.token or "", rules.token_hashes, context.clock)
        wrong = "invalid or revoked token"
        hint = "the file `token` of its data directory holds one, `arroyo token create` makes others"
    else:
        token_hash = context.sessions.redeem(body.code, context.clock())
        who = (token_hash and context.admission.caller_of(token_hash, rules.token_hashes, context.clock)) or None
        wrong, hint = "this link was used before, or is too old", "`arroyo ui` makes another one"
    if who is None:
        raise AuthError(wrong, hint=hint)
    return who


LOG = logging.getLogger(__name__)
TOKENS_ROUTER = APIRouter(prefix="/tokens", tags=["tokens"])


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


@TOKENS_ROUTER.post("", status_code=201, responses=refusals(400, 409))
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


@TOKENS_ROUTER.get("")
def list_all(who: AdminDep, context: ContextDep) -> Page[Token]:
    """List the named tokens, oldest first, including revoked and expired ones."""
    now = context.clock()
    with context.database.reading() as connection:
        return Page(data=[_shown(token, now) for token in tokens.named(connection)])


@TOKENS_ROUTER.delete("/{name}", status_code=204, responses=refusals(404))
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
