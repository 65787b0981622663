"""Authenticate requests: an allowed host name, a valid token, and a limited body size. Checked before the body is
read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from fastapi import Depends, Request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from engine.api.http.problems import answer, problem_of
from engine.api.metrics import METRICS_PATH
from engine.control.access import ADMIN, Admission, Caller, Sessions
from engine.errors import (
    AuthError,
    CrossSiteError,
    EngineError,
    HostRefusedError,
    RequestError,
    RequestTooLargeError,
)
from engine.jobs.address import API_PREFIX
from engine.values.instants import Clock

OPEN = (f"{API_PREFIX}/ping", f"{API_PREFIX}/api-docs/")
"""Public paths of the API."""
SESSION = f"{API_PREFIX}/session"
"""Public path: everybody may ask for their session, and post credentials, which the handler checks."""
PAGE_HEADER = "X-Arroyo-Page"
"""Header that the web UI sends with every change. A page of another origin would need a CORS preflight, which is never
answered."""
_CALLER = "caller"
_STILL = "still"
OWN_KEY = f"{API_PREFIX}/runs/"
"""Paths that drivers request with the secret of their run, which the handlers check."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Requirements of a request. Without `hosts`, any host name is accepted. The hashes are those of the admin's
    tokens."""

    token_hashes: frozenset[str]
    hosts: frozenset[str] | None
    max_body_bytes: int
    open_metrics: bool = False
    """Whether the metrics are public."""


@dataclass(frozen=True, slots=True)
class Authentication:
    """The application, behind the rules."""

    app: ASGIApp
    rules: Rules
    admission: Admission
    clock: Clock
    sessions: Sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with a problem."""
        if scope["type"] == "http":
            try:
                headers = Headers(scope=scope)
                state = scope.setdefault("state", {})
                state[_CALLER] = found = self._check(scope["method"], scope["path"], headers)
                state[_STILL] = partial(self._is_let_in, found, headers)
            except EngineError as error:
                await answer(problem_of(error))(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _check(self, method: str, path: str, headers: Headers) -> Caller | None:
        """Return the caller; raise for a request without a valid token if one is needed."""
        _check(self.rules, path, headers)
        if is_open(path, method) and (path != METRICS_PATH or self.rules.open_metrics):
            return self._caller(method, headers) if (method, path) == ("GET", SESSION) else None
        caller = self._caller(method, headers)
        if caller is None:
            raise AuthError("the request has no valid token", hint="send `Authorization: Bearer <token>`")
        return caller

    def _is_let_in(self, found: Caller | None, headers: Headers) -> bool:
        """Whether the caller would still be accepted, by the same token and in the same session."""
        return found is None or self._caller("GET", headers) == found

    def _caller(self, method: str, headers: Headers) -> Caller | None:
        """Return the caller that the token of a request identifies, or else its cookie."""
        if "authorization" in headers or not (cookie := session_cookie(headers)):
            return self.admission.caller(bearer(headers), self.rules.token_hashes, self.clock)
        _check_same_site(method, headers)
        token_hash = self.sessions.token_hash(cookie, self.clock())
        return (token_hash and self.admission.caller_of(token_hash, self.rules.token_hashes, self.clock)) or None


def is_open(path: str, method: str = "GET") -> bool:
    """Whether this path needs no token, or only a secret that its handler checks."""
    if path == SESSION and method.upper() in {"GET", "POST"}:
        return True
    return path.startswith((*OPEN, OWN_KEY)) or not path.startswith("/api/")


def bearer(headers: Headers) -> str:
    """Return the token of a request; empty if it has none."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def who_asks(request: Request) -> str | None:
    """Return the name of the token of a request; None if no token is needed."""
    found: Caller | None = request.scope["state"][_CALLER]
    return None if found is None else found.name


def is_let_in(request: Request) -> bool:
    """Whether the sender of a request would still be accepted: a request that waits outlives some tokens and
    sessions."""
    still: Callable[[], bool] = request.scope["state"][_STILL]
    return still()


def caller(request: Request) -> Caller:
    """Return the caller of an accepted request."""
    found: Caller = request.scope["state"][_CALLER]
    return found


def cookie_name(headers: Headers) -> str:
    """Return the name of the session cookie. Cookies ignore ports, so each port has a name of its own."""
    _, _, port = headers.get("host", "").rpartition("]")[2].partition(":")
    return f"arroyo-session-{port}" if port.isdigit() else "arroyo-session"


def session_cookie(headers: Headers) -> str:
    """Return the session cookie of a request; empty if it has none."""
    name = cookie_name(headers)
    pairs = (pair.strip().partition("=") for pair in headers.get("cookie", "").split(";"))
    return next((value for key, _, value in pairs if key == name), "")


def _check_same_site(method: str, headers: Headers) -> None:
    """Refuse a request that another page makes a browser send, with a cookie that is not its own."""
    site = headers.get("sec-fetch-site", "same-origin")
    if site not in {"same-origin", "none"} or (method not in {"GET", "HEAD"} and PAGE_HEADER not in headers):
        raise CrossSiteError(
            "another page has sent this request with the cookie of this one",
            hint=f"send a token, or from the page itself the header {PAGE_HEADER}",
        )


def _check(rules: Rules, path: str, headers: Headers) -> None:
    if rules.hosts is not None and _host_name(headers.get("host", "")) not in rules.hosts:
        raise HostRefusedError(
            "the host name of the request is not one of this control plane's",
            hint="add it to the setting api.allowed_hosts",
        )
    if "transfer-encoding" in headers:
        raise RequestError("the request does not say how long it is", hint="send Content-Length")
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()) or int(length) > rules.max_body_bytes:
        raise RequestTooLargeError(
            f"the request is longer than {rules.max_body_bytes} bytes",
            hint="the setting api.max_body_bytes is the limit",
        )


def _host_name(host: str) -> str:
    """Return the name in a Host header, without the port."""
    if host.startswith("["):
        return host.partition("]")[0].lstrip("[").lower()
    return host.partition(":")[0].lower()


async def _who(request: Request) -> str:
    return who_asks(request) or ADMIN


WhoDep = Annotated[str, Depends(_who)]
"""The requester."""
