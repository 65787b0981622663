"""HTTP requests with a total deadline. The timeouts of a client apply to each read, so a server that sends a byte per
second could hold a connection forever."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import httpcore
import httpx

Seconds = Callable[[], float]


@dataclass(slots=True)
class TimeLeft:
    """Remaining time of the current request."""

    limit: float
    clock: Seconds = time.monotonic
    _end: float = 0.0

    def begin(self) -> None:
        """Start the time limit of a request."""
        self._end = self.clock() + self.limit

    def of(self, timeout: float | None) -> float:
        """Return the timeout of one step, limited by the remaining time."""
        left = self._end - self.clock()
        if left <= 0:
            raise httpcore.ReadTimeout(f"it has taken more than {self.limit:g} seconds in all")
        return left if timeout is None else min(timeout, left)


class _Stream(httpcore.NetworkStream):
    """A connection whose operations respect the remaining time."""

    def __init__(self, inner: httpcore.NetworkStream, left: TimeLeft) -> None:
        self._inner = inner
        self._left = left

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._left.of(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._left.of(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, self._left.of(timeout)), self._left)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Backend(httpcore.SyncBackend):
    """Creates such connections."""

    def __init__(self, left: TimeLeft) -> None:
        self._left = left

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        inner = super().connect_tcp(host, port, self._left.of(timeout), local_address, socket_options)
        return _Stream(inner, self._left)


class LimitedTransport(httpx.HTTPTransport):
    """Sends requests one after the other, each with a deadline of `limit` seconds for connecting, sending and reading
    the whole response."""

    def __init__(self, url: str, limit: float, clock: Seconds = time.monotonic) -> None:
        context = ssl.create_default_context() if url.startswith("https:") else None
        super().__init__(verify=False if context is None else context, trust_env=False)
        self._left = TimeLeft(limit, clock)
        self._pool = httpcore.ConnectionPool(ssl_context=context, network_backend=_Backend(self._left))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; its time limit starts now."""
        self._left.begin()
        return super().handle_request(request)
