"""Who is let in: the right host name, an admitted token, a body of bearable size. Checked before anything is read."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from engine.api.admission import Admission
from engine.api.metrics import METRICS_PATH
from engine.api.problems import answer, problem_of
from engine.errors import AuthError, EngineError, HostRefusedError, RequestError, RequestTooLargeError
from engine.instants import Clock
from engine.jobs.address import API_PREFIX

OPEN = (f"{API_PREFIX}/ping", f"{API_PREFIX}/api-docs/")
"""Paths below the API that anybody may ask."""
_WHO = "who"
OWN_KEY = f"{API_PREFIX}/runs/"
"""Paths that drivers ask with the secret of their run, which the handlers check."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What a request must have. Without `hosts`, any host name will do. The hashes are those of the admin's tokens."""

    token_hashes: frozenset[str]
    hosts: frozenset[str] | None
    max_body_bytes: int
    open_metrics: bool = False
    """Whether the metrics are shown to those without a token, too."""


@dataclass(frozen=True, slots=True)
class Authentication:
    """The application, behind the rules."""

    app: ASGIApp
    rules: Rules
    admission: Admission
    clock: Clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with a problem."""
        if scope["type"] == "http":
            try:
                scope.setdefault("state", {})[_WHO] = self._check(scope["path"], Headers(scope=scope))
            except EngineError as error:
                await answer(problem_of(error))(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _check(self, path: str, headers: Headers) -> str | None:
        """Who asks; refuses what has no valid token where one is needed."""
        _check(self.rules, path, headers)
        if is_open(path) and (path != METRICS_PATH or self.rules.open_metrics):
            return None
        who = self.admission.who(bearer(headers), self.rules.token_hashes, self.clock)
        if who is None:
            raise AuthError("the request has no valid token", hint="send `Authorization: Bearer <token>`")
        return who


def is_open(path: str) -> bool:
    """Whether anybody may ask for this path, or only with a secret that its handler checks."""
    return path.startswith((*OPEN, OWN_KEY)) or not path.startswith("/api/")


def bearer(headers: Headers) -> str:
    """The token a request brings; empty when it brings none."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def who_asks(request: Request) -> str | None:
    """The name of the token that a request was let in with; None where nobody needs one."""
    who: str | None = request.scope["state"][_WHO]
    return who


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
    """The name in a Host header, without the port."""
    if host.startswith("["):
        return host.partition("]")[0].lstrip("[").lower()
    return host.partition(":")[0].lower()
