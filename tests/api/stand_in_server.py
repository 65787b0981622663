"""A server that stands in for a control plane: it notes what it is asked, and answers what the test says."""

from __future__ import annotations

import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class StandInServer:
    """What was asked of it, and what it answers."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, dict[str, str], str]] = []
        self.status = 200
        self.answer: bytes = b"{}"
        self.script: deque[bytes] = deque()
        """What it answers first, one after the other."""
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def _handler(server) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                server.requests.append((self.command, self.path, dict(self.headers.items()), body))
                answer = server.script.popleft() if server.script else server.answer
                self.send_response(server.status)
                self.send_header("Content-Length", str(len(answer)))
                self.send_header("Location", "/elsewhere")
                self.end_headers()
                self.wfile.write(answer)

            do_PUT = do_DELETE = do_POST = do_PATCH = do_GET  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def close(self) -> None:
        """Answer nobody any more."""
        self.http.shutdown()
        self.http.server_close()
