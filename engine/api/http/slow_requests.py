"""Close connections on which a request is not complete in time; otherwise a client could hold one forever by sending
single bytes.

    at 0 s    GET /pipelines HTT          the time begins
    at 29 s   P/1.1                       and continues: it applies to the whole request, with its body
    at 30 s                               408, closed

A complete request may be held as long as its handler likes.
"""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Base: Any = object
else:
    from uvicorn.protocols.http.auto import AutoHTTPProtocol as Base

LIMIT = timedelta(seconds=30)
"""Longest time for a request to arrive, including its body; also the idle timeout of a new connection."""
_PROBLEM = {
    "type": "urn:arroyo:request.too_slow",
    "title": "Request Timeout",
    "status": 408,
    "code": "request.too_slow",
    "detail": f"the request was not complete after {LIMIT.total_seconds():g} seconds",
    "hint": "send it again, all at once",
}


def limited(base: Any) -> Any:
    """Return a protocol of uvicorn, with either of its parsers, that ends requests that arrive too slowly."""

    class LimitedProtocol(base):  # type: ignore[misc]
        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, **more)
            self._time_limit: asyncio.TimerHandle | None = None
            self._is_half = True

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._begin()

        def connection_lost(self, exc: Exception | None) -> None:
            self._end()
            super().connection_lost(exc)

        def on_message_begin(self) -> None:
            """Record that httptools has read the first byte of a request."""
            self._is_half = True
            super().on_message_begin()

        def on_message_complete(self) -> None:
            """Record that httptools has read the last byte of a request."""
            self._is_half = False
            super().on_message_complete()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if hasattr(self, "conn"):  # h11 has states instead of callbacks
                self._is_half = self.conn.their_state.__name__ in ("IDLE", "SEND_BODY")
            if self._is_half:
                self._begin()
            else:
                self._end()

        def _begin(self) -> None:
            if self._time_limit is None:
                self._time_limit = self.loop.call_later(LIMIT.total_seconds(), self._give_up)

        def _end(self) -> None:
            if self._time_limit is not None:
                self._time_limit.cancel()
                self._time_limit = None

        def _give_up(self) -> None:
            if self.transport.is_closing():
                return
            if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
                self.transport.write(_answer())
            self.transport.close()

    return LimitedProtocol


LIMITED_PROTOCOL: Any = limited(Base)
"""HTTP protocol class of the control plane, with the installed parser."""


def _answer() -> bytes:
    body = json.dumps(_PROBLEM | {"error": _PROBLEM["detail"]}).encode()
    head = f"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/problem+json\r\ncontent-length: {len(body)}\r\n"
    return head.encode() + b"connection: close\r\n\r\n" + body
