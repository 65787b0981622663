"""A proxy in front of a store: it counts the requests by kind, and answers some with faults."""

from __future__ import annotations

import contextlib
import http.client
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal
from urllib.parse import urlsplit

Fault = Literal["unavailable", "lost", "refused", "silent", "slow"]
"""503 without a word to the store; a request that is done and never answered; 403; a connection that stays open and
brings nothing; an answer that takes a while."""
_SLOW_SECONDS = 0.3
_NOT_PASSED_ON = {"connection", "transfer-encoding", "keep-alive"}
_REFUSAL = (
    b"<?xml version='1.0'?><Error><Code>%s</Code><Message>this is a test</Message><RequestId>1</RequestId></Error>"
)


@dataclass(frozen=True, slots=True)
class Request:
    """A request: its method, its path with the query, and whether it creates an object only once."""

    method: str
    path: str
    is_conditional: bool

    @property
    def kind(self) -> str:
        """Return what it is for: the method, LIST for that of a listing, with the ending of the object's name."""
        path, _, query = self.path.partition("?")
        if "list-type" in query:
            return "LIST"
        _, dot, ending = path.rpartition(".")
        return f"{self.method} {ending}" if dot else self.method


@dataclass(slots=True)
class FaultyStore:
    """The proxy. `fault` says which requests fail, and how."""

    upstream: str
    fault: Callable[[Request], Fault | None] = lambda _: None
    requests: list[Request] = field(default_factory=list)
    failed: list[Request] = field(default_factory=list)
    url: str = ""
    ignores: frozenset[str] = frozenset()
    """Headers that are not passed on, in lower case: of a store that does not know them."""
    over: threading.Event = field(default_factory=threading.Event)
    """Ends all silence."""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Pass a request on, or have it fail."""
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        request = Request(handler.command, handler.path, "If-None-Match" in handler.headers)
        self.requests.append(request)
        fault = self.fault(request)
        if fault is not None:
            self.failed.append(request)
        if fault in ("unavailable", "refused"):
            status, code = (503, b"SlowDown") if fault == "unavailable" else (403, b"AccessDenied")
            content = b"" if handler.command == "HEAD" else _REFUSAL % code
            handler.send_response(status)
            handler.send_header("Content-Length", str(len(content)))
            handler.end_headers()
            handler.wfile.write(content)
            return
        if fault == "silent":
            self.over.wait()
            handler.close_connection = True
            return
        if fault == "slow":
            self.over.wait(_SLOW_SECONDS)
        address = urlsplit(self.upstream)
        with contextlib.closing(http.client.HTTPConnection(str(address.hostname), address.port, timeout=60)) as there:
            there.putrequest(handler.command, handler.path, skip_host=True, skip_accept_encoding=True)
            for name, value in handler.headers.items():
                if name.lower() not in _NOT_PASSED_ON | self.ignores:
                    there.putheader(name, value)
            there.endheaders(body)
            found = there.getresponse()
            content = found.read()
            if fault == "lost":
                handler.close_connection = True
                handler.connection.close()
                return
            handler.send_response(found.status)
            for name, value in found.getheaders():
                if name.lower() not in _NOT_PASSED_ON | {"content-length", "date", "server"}:
                    handler.send_header(name, value)
            length = found.getheader("Content-Length") if handler.command == "HEAD" else str(len(content))
            handler.send_header("Content-Length", length or "0")
            handler.end_headers()
            handler.wfile.write(content)


@contextlib.contextmanager
def faulty(upstream: str) -> Iterator[FaultyStore]:
    """Serve on a free port of loopback."""
    store = FaultyStore(upstream)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one_request(self) -> None:
            with contextlib.suppress(OSError, ValueError):
                super().handle_one_request()
                return
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            store.answer(self)

        do_PUT = do_POST = do_HEAD = do_DELETE = do_GET  # noqa: N815 - see above

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    store.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield store
    finally:
        store.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
