"""A real server that rows are posted to."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Receiver(ThreadingHTTPServer):
    """Takes rows; `answers` are what it says first, with the headers beside; then it says 200, but 422 to a row whose
    `n` is negative."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[tuple[int, dict[str, str]]] = []
        self.seen: list[tuple[str, dict[str, object]]] = []
        self.headers: list[dict[str, str]] = []
        self.guard = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://localhost:{self.server_address[1]}/rows"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        assert isinstance(self.server, Receiver)
        with self.server.guard:
            status, headers = self.server.answers.pop(0) if self.server.answers else (200, {})
            if body.get("n", 0) < 0:
                status, headers = 422, {}
            self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
            if status == 200:
                self.server.seen.append((self.headers["idempotency-key"], body))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass
