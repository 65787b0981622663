"""Who is let in: the right host name, an admitted token, a body of bearable size. Checked before anything is read."""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from engine.api.problems import answer, problem_of
from engine.errors import AuthError, EngineError, HostRefusedError, RequestError, RequestTooLargeError
from engine.jobs.address import API_PREFIX
from engine.jobs.controller import hash_key

OPEN = (f"{API_PREFIX}/ping", f"{API_PREFIX}/api-docs/")
"""Paths below the API that anybody may ask."""
OWN_KEY = f"{API_PREFIX}/runs/"
"""Paths that drivers ask with the secret of their run, which the handlers check."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What a request must have. Without `hosts`, any host name will do."""

    token_hashes: frozenset[str]
    hosts: frozenset[str] | None
    max_body_bytes: int


@dataclass(frozen=True, slots=True)
class Authentication:
    """The application, behind the rules."""

    app: ASGIApp
    rules: Rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with a problem."""
        if scope["type"] == "http":
            try:
                _check(self.rules, scope["path"], Headers(scope=scope))
            except EngineError as error:
                await answer(problem_of(error))(scope, receive, send)
                return
        await self.app(scope, receive, send)


def bearer(headers: Headers) -> str:
    """The token a request brings; empty when it brings none."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def is_admitted(token: str, hashes: frozenset[str]) -> bool:
    """Whether a token is one of those hashed; takes the same time whichever it is."""
    hashed = hash_key(token)
    return sum(hmac.compare_digest(hashed, admitted) for admitted in hashes) > 0 and bool(token)


def _check(rules: Rules, path: str, headers: Headers) -> None:
    if rules.hosts is not None and _host_name(headers.get("host", "")) not in rules.hosts:
        raise HostRefusedError(
            "the host name of the request is not one of this control plane's",
            hint="add it to the setting api.allowed_hosts",
        )
    if "transfer-encoding" in headers:
        raise RequestError("the request does not say how long it is", hint="send Content-Length")
    length = headers.get("content-length", "0")
    if not length.isdigit() or int(length) > rules.max_body_bytes:
        raise RequestTooLargeError(
            f"the request is longer than {rules.max_body_bytes} bytes",
            hint="the setting api.max_body_bytes is the limit",
        )
    if path.startswith(OPEN) or path.startswith(OWN_KEY) or not path.startswith("/api/"):
        return
    if not is_admitted(bearer(headers), rules.token_hashes):
        raise AuthError("the request has no valid token", hint="send `Authorization: Bearer <token>`")


def _host_name(host: str) -> str:
    """The name in a Host header, without the port."""
    if host.startswith("["):
        return host.partition("]")[0].lstrip("[").lower()
    return host.partition(":")[0].lower()
