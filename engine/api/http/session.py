"""Browser sessions: log in with a token or a one-time link, and log out. Scripts cannot read the cookie."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from engine.api.http.authentication import PAGE_HEADER, Rules, caller, cookie_name, session_cookie, who_asks
from engine.api.http.bodies import Body
from engine.api.http.depends import ContextDep
from engine.api.http.problems import refusals
from engine.control.access import Caller
from engine.control.context import Context
from engine.errors import AuthError, CrossSiteError
from engine.store.access import left_sessions
from engine.values.instants import to_micros

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
            left_sessions.add(connection, *ended, now)
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
