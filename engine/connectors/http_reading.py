"""Read over HTTP: an asynchronous client for an address that was checked, and the meaning of answers."""

from __future__ import annotations

import logging
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx

from engine.connectors.addresses import Reachable, check_url, shown_url
from engine.errors import EngineError, SourceRefusedError, SourceUnavailableError, TargetUnavailableError, message_of

# httpx logs each request with its whole URL, in which a key may stand
logging.getLogger("httpx").setLevel(logging.WARNING)
_AGAIN = frozenset({408, 425, 429})


@asynccontextmanager
async def http_client(
    endpoint: str, headers: Mapping[str, str], timeout: httpx.Timeout
) -> AsyncIterator[tuple[httpx.AsyncClient, Reachable]]:
    """Open a client for one endpoint, with its checked address. Errors in the context become ours."""
    try:
        target = check_url(endpoint, os.environ)
    except TargetUnavailableError as wrong:
        raise SourceUnavailableError(wrong.message, hint=wrong.hint) from wrong
    try:
        async with httpx.AsyncClient(
            timeout=timeout, headers={**headers, "host": target.host}, follow_redirects=False, trust_env=False
        ) as client:
            yield client, target
    except httpx.TransportError as wrong:
        raise _unreachable(endpoint, wrong) from wrong
    except httpx.InvalidURL as wrong:
        raise SourceRefusedError(f"{shown_url(endpoint)} is not a URL: {message_of(wrong)}") from wrong


def sni(target: Reachable) -> dict[str, str]:
    """Return the extension of a request that lets the server prove that it is the named host."""
    return {"sni_hostname": target.server_name}


def refuse_failure(endpoint: str, answer: httpx.Response) -> None:
    """Raise if an answer has no content: an outage where a later request may succeed, else a refusal."""
    if answer.is_success:
        return
    message = f"{shown_url(endpoint)} answers {answer.status_code} {answer.reason_phrase}".rstrip()
    if answer.status_code in _AGAIN or answer.status_code >= 500:
        raise SourceUnavailableError(message, hint="check the server")
    hint = "check the URL and the headers"
    if answer.is_redirect:
        hint = "redirects are not followed: name the URL that the server redirects to"
    raise SourceRefusedError(message, hint=hint)


def _unreachable(endpoint: str, wrong: httpx.TransportError) -> EngineError:
    cause: BaseException | None = wrong
    while cause is not None and not isinstance(cause, ssl.SSLCertVerificationError):
        cause = cause.__cause__ or cause.__context__
    if cause is not None:
        return SourceRefusedError(
            f"{shown_url(endpoint)} has a certificate that is not trusted: {message_of(cause)}",
            hint="check the host name, and the certificates that this machine trusts",
        )
    return SourceUnavailableError(
        f"{shown_url(endpoint)} does not answer: {type(wrong).__name__} {wrong}".rstrip(),
        hint="check that it is up and can be reached from here",
    )
