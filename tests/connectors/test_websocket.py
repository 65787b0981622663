"""Reading a real WebSocket server: subscriptions, lost connections, and what ends the run."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import trustme
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve

from engine.connectors.addresses import ALLOWED
from engine.connectors.intake.log import LogWriter, Message
from engine.connectors.intake.receiver import ReceivingThread, Reception
from engine.connectors.testing import SOURCE_CHECKS, SourceCheck
from engine.connectors.websocket.options import WebsocketOptions
from engine.connectors.websocket.receiver import WebsocketReceiver
from engine.errors import AddressRefusedError, EngineError, ScriptRefused, SourceRefusedError, SourceUnavailableError
from tests.connectors.tables import NUMBERS, between, rows, source, start, table
from tests.ports import free_port


@pytest.fixture(autouse=True)
def _allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOWED, "localhost")


@dataclass
class Server:
    """A server that runs a function for each connection."""

    url: str
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def running(
    handle: Callable[[ServerConnection], None], status: int | None = None, tls: ssl.SSLContext | None = None
) -> Iterator[Server]:
    server = Server("")

    def note(opened: ServerConnection, request: Request) -> Response | None:
        server.headers.append({name.lower(): value for name, value in request.headers.raw_items()})
        return None if status is None else opened.respond(HTTPStatus(status), "no")

    with serve(handle, "127.0.0.1", 0, process_request=note, ssl=tls) as serving:
        server.url = f"{'ws' if tls is None else 'wss'}://localhost:{serving.socket.getsockname()[1]}/feed?key=hush"
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            serving.shutdown()
            thread.join()


def receive(options: dict[str, Any]) -> tuple[list[Message], EngineError | None]:
    """The messages until the connection ends, and why."""
    taken: list[Message] = []

    async def take(messages: Sequence[Message]) -> None:
        taken.extend(messages)

    receiver = WebsocketReceiver(WebsocketOptions.model_validate(options), lambda: 5_000_000)
    try:
        asyncio.run(receiver.receive(None, take))
    except EngineError as error:
        ended: EngineError | None = error
    else:
        ended = None
    assert "hush" not in str(ended)
    return taken, ended


def test_messages_follow_the_subscriptions() -> None:
    def handle(opened: ServerConnection) -> None:
        asked = [opened.recv(), opened.recv()]
        for text in asked:
            opened.send(text)
        opened.send(b"\x00\x01")

    with running(handle) as server:
        options = {"subscription_messages.0": '{"a": 1}', "subscription_messages.1": "b", "headers": "X-Key: hush"}
        found, error = receive({"endpoint": server.url, **options})

    assert [(message.content, message.metadata["kind"]) for message in found] == [
        (b'{"a": 1}', "text"),
        (b"b", "text"),
        (b"\x00\x01", "binary"),
    ]
    assert error is None
    assert server.headers[0]["x-key"] == "hush"
    assert server.headers[0]["host"] == server.url.split("/")[2]


def test_thousands_of_messages_keep_their_order() -> None:
    def handle(opened: ServerConnection) -> None:
        for n in range(5_000):
            opened.send(str(n))

    with running(handle) as server:
        found, _ = receive({"endpoint": server.url})

    assert [int(message.content) for message in found] == list(range(5_000))


def test_a_connection_that_breaks_keeps_what_has_come() -> None:
    def handle(opened: ServerConnection) -> None:
        opened.send("a")
        opened.send("b")
        opened.close(1011, "sick")

    with running(handle) as server:
        found, error = receive({"endpoint": server.url})

    assert [message.content for message in found] == [b"a", b"b"]
    assert isinstance(error, SourceUnavailableError)
    assert error.is_outage
    assert "sick" in error.message


@pytest.mark.parametrize(("status", "is_outage"), [(503, True), (429, True), (401, False), (404, False)])
def test_answers_other_than_a_connection_are_told_apart(status: int, is_outage: bool) -> None:
    with running(lambda _: None, status) as server:
        _, error = receive({"endpoint": server.url})

    assert error is not None
    assert (error.is_outage, str(status) in error.message) == (is_outage, True)


def test_a_message_that_is_too_large_ends_the_run() -> None:
    with running(lambda opened: opened.send("x" * 11)) as server:
        _, error = receive({"endpoint": server.url, "source.max_message_bytes": 10})

    assert isinstance(error, SourceRefusedError)
    assert "more than 10 bytes" in error.message


def test_a_certificate_that_is_not_trusted_ends_the_run() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("localhost").configure_cert(context)
    with running(lambda _: None, tls=context) as server:
        _, error = receive({"endpoint": server.url})

    assert isinstance(error, SourceRefusedError)
    assert "certificate" in error.message


def test_a_server_that_is_away_is_an_outage_and_a_private_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    _, error = receive({"endpoint": f"ws://localhost:{free_port()}"})
    assert isinstance(error, SourceUnavailableError)
    monkeypatch.delenv(ALLOWED)
    _, error = receive({"endpoint": "ws://localhost:1"})
    assert isinstance(error, AddressRefusedError)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"endpoint": "http://localhost"}, "ws://"),
        ({"endpoint": "ws://me:secret@localhost"}, "password"),
        ({"subscription_message": "a", "subscription_messages.0": "b"}, "exclude each other"),
        ({"subscription_messages.10": "b"}, "subscription_messages.10"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], error: str) -> None:
    given = {name.replace(".", "__"): value for name, value in {"endpoint": "ws://localhost", **options}.items()}

    with pytest.raises(ScriptRefused, match=error):
        table("websocket", NUMBERS, **given)


def test_a_receiver_connects_again_and_stops_when_asked(tmp_path: Path) -> None:
    connections: list[int] = []
    is_enough = threading.Event()

    def handle(opened: ServerConnection) -> None:
        connections.append(1)
        first = len(connections)
        opened.recv()
        opened.send(f'{{"n": {first}}}')
        if first == 3:
            is_enough.set()
            opened.recv()

    async def sleep(_: float) -> None:
        pass

    with running(handle) as server:
        options = WebsocketOptions.model_validate({"endpoint": server.url, "subscription_message": "please"})
        writer = LogWriter(tmp_path / "log", 2**30)
        thread = ReceivingThread(Reception("t", options, WebsocketReceiver(options), writer, sleep))
        thread.start()
        assert is_enough.wait(30)
        of = replace(table("websocket", NUMBERS, endpoint="ws://localhost"), intake=tmp_path / "log")
        reader = source(of)
        found: list[int] = []
        while len(found) < 3:  # the third message is sent, and becomes durable
            last = reader.advance(start(reader), None)
            found = [row["n"] for row in rows(between(reader, start(reader), last))]
        thread.stop()

    thread.raise_failure()
    assert found == [1, 2, 3]


@pytest.mark.parametrize("check", SOURCE_CHECKS, ids=lambda check: check.__name__)
def test_the_source_keeps_the_contract(check: SourceCheck, tmp_path: Path) -> None:
    writer = LogWriter(tmp_path / "log", 2**30)
    writer.append([Message(b'{"n": %d}' % n, {"kind": "text"}, 7) for n in range(300)])
    of = table("websocket", NUMBERS, {"at": "received_time", "kind": "kind"}, endpoint="ws://localhost")

    check(replace(of, intake=tmp_path / "log"), 300)
