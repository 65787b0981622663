"""Forward a request to a control plane, and its response back: with the token of the connection, which the browser
never sees, and without the headers between browser and Airflow."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from functools import lru_cache
from typing import Any

import httpx
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from airflow_provider_arroyo.endpoint import Endpoint
from airflow_provider_arroyo.page.allowed import quoted
from airflow_provider_arroyo.page.refusals import PASSED, NotPassedOnError

_SENT = ("accept", "content-type", "idempotency-key", "if-match", "last-event-id")
_AS_IT_IS = {"accept-encoding": "identity"}
_RETURNED = ("cache-control", "etag", "retry-after", "x-accel-buffering")
_KINDS = frozenset({"application/json", "application/problem+json", "text/event-stream"})
"""Content types of the control plane. No other response is forwarded, so that none becomes a page of Airflow."""
_STREAM = "text/event-stream"

MOST_SENT = 16 * 2**20
MOST_RETURNED = 64 * 2**20
ANSWER_TIME = timedelta(seconds=60)
STREAM_TIME = timedelta(minutes=5)
"""Longest duration of a stream; then the browser reconnects, and is authorised again."""


async def pass_on(request: Request, endpoint: Endpoint, path: str) -> Response:
    """Return the control plane's answer to an accepted request."""
    headers = {name: request.headers[name] for name in _SENT if name in request.headers}
    content = await _body(request)
    client = _client(endpoint)
    try:
        sent = client.build_request(
            request.method,
            httpx.URL(f"{client.base_url}{quoted(path)}", query=request.scope.get("query_string") or None),
            headers={**headers, **_AS_IT_IS},
            content=content if content or request.method != "GET" else None,
        )
        received = await client.send(sent, stream=True)
        return await _answer(client, received)
    except (httpx.TransportError, httpx.InvalidURL) as error:
        await client.aclose()
        raise away(error) from None
    except httpx.DecodingError:
        await client.aclose()
        raise _no_control_plane() from None
    except BaseException:
        await client.aclose()
        raise


async def version_of(endpoint: Endpoint) -> str:
    """Return the version of the control plane, which must answer and accept the token."""
    async with _client(endpoint) as client:
        try:
            said = await client.send(client.build_request("GET", "session", headers=_AS_IT_IS), stream=True)
            session = json.loads(await _read(said))["session"] if said.is_success else None
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise away(error) from None
        except (httpx.DecodingError, ValueError, KeyError, TypeError):
            raise _no_control_plane() from None
    if not isinstance(session, dict):
        raise _bad_token()
    return str(session.get("version"))


def away(error: Exception) -> NotPassedOnError:
    """Return the refusal for an unreachable control plane. It names no address."""
    return NotPassedOnError(
        502,
        "http.unreachable",
        f"the control plane does not answer: {type(error).__name__}",
        "its address is in the Airflow connection, and is looked up from Airflow's API server",
    )


def _bad_token() -> NotPassedOnError:
    """Return the error for a token that the control plane rejects; the user's session with Airflow does not end."""
    hint = "the connection's password is the token of the control plane"
    return NotPassedOnError(502, "airflow.token", "the control plane does not take the token of the connection", hint)


def _no_control_plane() -> NotPassedOnError:
    return NotPassedOnError(502, "http.bad_answer", "what answers there is no control plane")


def _client(endpoint: Endpoint) -> httpx.AsyncClient:
    """Return a client of the control plane. An error of the connection is not repeated: it may contain a token."""
    timeout = httpx.Timeout(ANSWER_TIME.total_seconds(), connect=10)
    try:
        settings = endpoint.settings()
        verify = _trusted(settings["verify"]) if endpoint.is_encrypted else False
        return httpx.AsyncClient(**{**settings, "verify": verify}, timeout=timeout, follow_redirects=False)
    except (OSError, ValueError, httpx.InvalidURL) as error:
        raise NotPassedOnError(
            503,
            "connection.invalid",
            f"nothing can be asked with this connection: {type(error).__name__}",
            "its host has to be a URL or a name, its password a token, and `verify` in its extra a file of "
            "certificates on the machine of Airflow's API server",
        ) from None


@lru_cache(maxsize=16)
def _trusted(verify: bool | str) -> ssl.SSLContext:
    """Return the trusted certificates; reading them takes longer than most requests."""
    if isinstance(verify, str):
        return ssl.create_default_context(cafile=verify)
    return httpx.create_ssl_context(verify=verify)


async def _body(request: Request) -> bytes:
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > MOST_SENT:
            raise NotPassedOnError(413, "request.too_large", f"the request is longer than {MOST_SENT} bytes")
        pieces.append(piece)
    return b"".join(pieces)


async def _answer(client: httpx.AsyncClient, received: httpx.Response) -> Response:
    kind = received.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_empty = received.status_code == 204
    if received.is_redirect or received.has_redirect_location or not (is_empty or kind in _KINDS):
        await received.aclose()
        raise _no_control_plane()
    if received.status_code == 401:
        await received.aclose()
        raise _bad_token()
    headers = {name: received.headers[name] for name in _RETURNED if name in received.headers} | PASSED
    if kind == _STREAM and received.is_success:
        return _Stream(client, received, headers)
    content = await _read(received)
    await client.aclose()
    return Response(content, received.status_code, headers, media_type=None if is_empty else kind)


async def _read(received: httpx.Response) -> bytes:
    pieces, size = [], 0
    async for piece in received.aiter_bytes():
        size += len(piece)
        if size > MOST_RETURNED:
            raise NotPassedOnError(502, "http.bad_answer", f"the answer is longer than {MOST_RETURNED} bytes")
        pieces.append(piece)
    return b"".join(pieces)


class _Stream(Response):
    """Forwards events as they arrive; closes the connection to the control plane as soon as the browser has
    disconnected."""

    def __init__(self, client: httpx.AsyncClient, received: httpx.Response, headers: Mapping[str, str]) -> None:
        super().__init__(status_code=received.status_code, headers=headers, media_type=_STREAM)
        del self.headers["content-length"]
        self._client = client
        self._received = received

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the stream on until it ends, the reader leaves, or the time limit is reached."""
        tasks = [asyncio.create_task(self._send(send)), asyncio.create_task(_gone(receive))]
        try:
            done, _ = await asyncio.wait(
                tasks, timeout=STREAM_TIME.total_seconds(), return_when=asyncio.FIRST_COMPLETED
            )
            is_read = tasks[1] not in done and not (tasks[0] in done and tasks[0].exception())
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._received.aclose()
            await self._client.aclose()
        if is_read:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        with suppress(httpx.TransportError, httpx.StreamError):
            async for piece in self._received.aiter_raw():
                await send({"type": "http.response.body", "body": piece, "more_body": True})


async def _gone(receive: Receive) -> Any:
    """Wait until the reader has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
