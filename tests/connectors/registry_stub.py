"""A schema registry of our own, over HTTP: it knows what was registered, and remembers what it was asked."""

from __future__ import annotations

import json
from base64 import b64decode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Stub(ThreadingHTTPServer):
    """Knows the schemas that were registered, numbered from 1; `answers` are what it says before that."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.registered: list[tuple[str, str, str]] = []
        self.requests: list[str] = []
        self.users: set[str] = set()
        self.hosts: set[str] = set()
        self.answers: list[tuple[int, object]] = []

    @property
    def url(self) -> str:
        return f"http://localhost:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Stub

    @property
    def _path(self) -> str:
        return self.path.partition("?")[0]

    def do_GET(self) -> None:
        if self._path.endswith("/versions/latest"):
            self._newest(self._path.removesuffix("/latest"))
            return
        number = int(self._path.rsplit("/", 1)[1])
        if number <= len(self.server.registered):
            self._answer(200, {"schema": self.server.registered[number - 1][2]})
        else:
            self._answer(404, {"error_code": 40403, "message": "Schema not found"})

    def _newest(self, subject: str) -> None:
        texts = [text for path, _, text in self.server.registered if path == subject]
        if texts:
            self._answer(200, {"subject": subject, "id": len(texts), "version": len(texts), "schema": texts[-1]})
        else:
            self._answer(404, {"error_code": 40401, "message": "Subject not found"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self._path.startswith("/compatibility/"):
            self._compatible(body["schema"])
            return
        new = (self._path, body.get("schemaType", "AVRO"), body["schema"])
        if "incompatible" in body["schema"]:
            self._answer(409, {"error_code": 409, "message": "Schema is incompatible"})
            return
        if new not in self.server.registered:
            self.server.registered.append(new)
        self._answer(200, {"id": self.server.registered.index(new) + 1})

    def _compatible(self, schema: str) -> None:
        subject = self._path.removeprefix("/compatibility")
        if not any(path == subject for path, *_ in self.server.registered):
            self._answer(404, {"error_code": 40401, "message": "Subject not found"})
        else:
            self._answer(200, {"is_compatible": "incompatible" not in schema})

    def _answer(self, status: int, content: object) -> None:
        if self.server.answers:
            status, content = self.server.answers.pop(0)
        self.server.hosts.add(self.headers["host"])
        self.server.requests.append(f"{self.command} {self._path}")
        self.server.users.add(b64decode(self.headers.get("authorization", "").partition(" ")[2]).decode())
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass
