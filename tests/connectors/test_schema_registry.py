"""A schema registry over HTTP: what it is asked, how often, and what its refusals become."""

from __future__ import annotations

import json
import threading
from base64 import b64decode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from engine.connectors.addresses import ALLOWED
from engine.connectors.schema_registry import HttpRegistry
from engine.errors import AddressRefusedError, SchemaRegistryError, ScriptRefused
from tests.connectors.tables import NUMBERS, table


class Stub(ThreadingHTTPServer):
    """Knows the schemas that were registered, numbered from 1."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.known: list[tuple[str, str, str]] = []
        self.asked: list[str] = []
        self.users: set[str] = set()

    @property
    def url(self) -> str:
        return f"http://localhost:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Stub

    def do_GET(self) -> None:
        number = int(self.path.rsplit("/", 1)[1])
        if number <= len(self.server.known):
            self._answer(200, {"schema": self.server.known[number - 1][2]})
        else:
            self._answer(404, {"error_code": 40403, "message": "Schema not found"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        new = (self.path, body.get("schemaType", "AVRO"), body["schema"])
        if "incompatible" in body["schema"]:
            self._answer(409, {"error_code": 409, "message": "Schema is incompatible"})
            return
        if new not in self.server.known:
            self.server.known.append(new)
        self._answer(200, {"id": self.server.known.index(new) + 1})

    def _answer(self, status: int, content: object) -> None:
        self.server.asked.append(f"{self.command} {self.path}")
        self.server.users.add(b64decode(self.headers.get("authorization", "").partition(" ")[2]).decode())
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def stub() -> Iterator[Stub]:
    server = Stub()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def ask(stub: Stub) -> HttpRegistry:
    return HttpRegistry(stub.url, "me", "open sesame", {ALLOWED: "localhost"})


def test_a_schema_is_registered_and_found_and_asked_for_once(stub: Stub) -> None:
    registry = ask(stub)

    numbers = [registry.register("a/b-value", kind, "{}") for kind in ("JSON", "JSON")]
    texts = [registry.schema_of(1) for _ in range(3)]

    assert (numbers, texts) == ([1, 1], ["{}"] * 3)
    assert stub.asked == ["POST /subjects/a%2Fb-value/versions", "GET /schemas/ids/1"]
    assert stub.known[0][1] == "JSON"
    assert stub.users == {"me:open sesame"}
    assert "sesame" not in repr(registry)


def test_refusals_are_told(stub: Stub) -> None:
    with pytest.raises(SchemaRegistryError, match="404 Schema not found"):
        ask(stub).schema_of(5)
    with pytest.raises(SchemaRegistryError, match="409 Schema is incompatible") as refused:
        ask(stub).register("s", "AVRO", "incompatible")
    assert "compatible with those before it" in str(refused.value.hint)


def test_a_registry_that_is_not_there_is_told(stub: Stub) -> None:
    nowhere = HttpRegistry("http://localhost:1", "", "", {ALLOWED: "localhost"})

    with pytest.raises(SchemaRegistryError, match="does not answer"):
        nowhere.schema_of(1)
    with pytest.raises(AddressRefusedError):
        HttpRegistry(stub.url, "", "", {}).schema_of(1)


def test_a_table_that_needs_a_registry_must_name_a_url() -> None:
    for endpoint in ("registry:8081", "http://me:secret@registry:8081"):
        with pytest.raises(ScriptRefused, match=r"schema_registry\.endpoint"):
            table(
                "kafka", NUMBERS, bootstrap_servers="b:1", topic="t", type="source", format="avro",
                schema_registry__endpoint=endpoint,
            )  # fmt: skip
