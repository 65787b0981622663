"""A real server that is read from: it answers each request with the next of its answers."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Answer:
    """Status, headers and content."""

    status: int = 200
    content: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


class Answering(ThreadingHTTPServer):
    """Gives `answers` in their order, the last one again and again. `requests` are the headers of each request."""

    def __init__(self, *answers: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = list(answers)
        self.requests: list[dict[str, str]] = []
        self.bodies: list[bytes] = []
        self.guard = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://localhost:{self.server_address[1]}/feed?key=hush"


class _Handler(BaseHTTPRequestHandler):
    def _answer(self) -> None:
        assert isinstance(self.server, Answering)
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        with self.server.guard:
            answer = self.server.answers.pop(0) if len(self.server.answers) > 1 else self.server.answers[0]
            self.server.requests.append({name.lower(): value for name, value in self.headers.items()})
            self.server.bodies.append(body)
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    do_GET = do_POST = do_PUT = do_PATCH = _answer  # noqa: N815 - the names that http.server looks for

    def log_message(self, *_: object) -> None:
        pass
