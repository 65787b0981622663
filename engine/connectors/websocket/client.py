"""Client of WebSockets, and the translation of its errors."""

from __future__ import annotations

import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from engine.connectors.addresses import check_url, shown_url
from engine.connectors.webhook.options import read_headers
from engine.connectors.websocket.options import WebsocketOptions, to_http
from engine.errors import (
    MissingPackageError,
    SourceRefusedError,
    SourceUnavailableError,
    TargetUnavailableError,
    message_of,
)

try:
    from websockets.asyncio.client import ClientConnection, connect
    from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, WebSocketException
except ImportError as missing:
    raise MissingPackageError(
        "the connector 'websocket' needs the Python package websockets",
        hint="pip install 'airflow-provider-arroyo[websocket]'",
    ) from missing

__all__ = ("ClientConnection", "connection")

_CONNECT_SECONDS = 30.0
_CLOSE_SECONDS = 2.0
_TOO_BIG = 1009
_AGAIN = frozenset({408, 425, 429})


@asynccontextmanager
async def connection(options: WebsocketOptions) -> AsyncIterator[ClientConnection]:
    """Open a connection to the checked address of a host. All errors inside become errors of ours."""
    shown = shown_url(options.endpoint)
    try:
        target = urlsplit(check_url(to_http(options.endpoint), os.environ).url)
    except TargetUnavailableError as wrong:
        raise SourceUnavailableError(wrong.message, hint=wrong.hint) from wrong
    seconds = options.ping_interval.total_seconds()
    try:
        async with connect(
            options.endpoint,
            host=target.hostname,
            port=target.port,
            additional_headers=read_headers(options.headers.get_secret_value()),
            proxy=None,
            open_timeout=_CONNECT_SECONDS,
            close_timeout=_CLOSE_SECONDS,
            ping_interval=seconds,
            ping_timeout=seconds,
            max_size=options.max_message,
        ) as opened:
            yield opened
    except ssl.SSLCertVerificationError as wrong:
        raise SourceRefusedError(
            f"{shown} has a certificate that is not trusted: {message_of(wrong)}",
            hint="check the host name, and the certificates that this machine trusts",
        ) from wrong
    except InvalidStatus as wrong:
        status = wrong.response.status_code
        kind = SourceUnavailableError if status in _AGAIN or status >= 500 else SourceRefusedError
        raise kind(
            f"{shown} answers {status} {wrong.response.reason_phrase}".rstrip(), hint="check the URL and the headers"
        ) from wrong
    except ConnectionClosed as wrong:
        if wrong.sent is not None and wrong.sent.code == _TOO_BIG:
            raise SourceRefusedError(
                f"{shown} sends a message of more than {options.max_message} bytes",
                hint="set a larger source.max_message_bytes",
            ) from wrong
        raise SourceUnavailableError(
            f"{shown} has ended the connection: {message_of(wrong)}", hint="check the server"
        ) from wrong
    except (InvalidHandshake, ValueError) as wrong:
        raise SourceRefusedError(
            f"{shown} is no WebSocket: {message_of(wrong)}", hint="check the URL; redirects are not followed"
        ) from wrong
    except (WebSocketException, OSError, TimeoutError) as wrong:
        raise SourceUnavailableError(
            f"{shown} does not answer: {message_of(wrong)}", hint="check that it is up and can be reached from here"
        ) from wrong
