"""Server-sent events: how they are parsed, what a new connection asks for, which answers end the run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.connectors.addresses import ALLOWED
from engine.connectors.intake.log import LogWriter, Message
from engine.connectors.intake.receiver import Reception
from engine.connectors.sse.events import Event, EventParser, TooLongError
from engine.connectors.sse.options import SseOptions
from engine.connectors.sse.receiver import SseReceiver
from engine.connectors.testing import SOURCE_CHECKS, SourceCheck
from engine.errors import AddressRefusedError, SourceRefusedError, SourceUnavailableError
from tests.connectors.answering import Answer, Answering
from tests.connectors.http_serving import serving
from tests.connectors.tables import NUMBERS, between, rows, source, start, table
from tests.ports import free_port

STREAM = {"content-type": "text/event-stream; charset=utf-8"}


@pytest.fixture(autouse=True)
def _allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOWED, "localhost")


TEXT = (
    b"\xef\xbb\xbf: hello\r\n\r\nid: 7\ndata: a\ndata:b\n\nevent: quote\rdata: {}\r\r"
    b"data\n\nid\nretry: 5\ndata: x\n\nevent: y\n\n"
)
EVENTS = [
    Event("7", "message", b"a\nb"),
    Event("7", "quote", b"{}"),
    Event("7", "message", b""),
    Event(None, "message", b"x"),
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_the_same_in_blocks_of_any_size(size: int) -> None:
    parser = EventParser(1000)
    blocks = [TEXT[first : first + size] for first in range(0, len(TEXT), size)]

    assert [event for block in blocks for event in parser.feed(block)] == EVENTS


@pytest.mark.parametrize("text", [b"data: 123456789\n", b"data: 12345\ndata: 12345\n", b"x" * 11])
def test_an_event_that_is_too_long_is_refused(text: bytes) -> None:
    with pytest.raises(TooLongError):
        list(EventParser(9).feed(text))


def receive(options: dict[str, Any], last: dict[str, str] | None = None) -> list[Message]:
    taken: list[Message] = []

    async def take(messages: Sequence[Message]) -> None:
        taken.extend(messages)

    receiver = SseReceiver(SseOptions.model_validate(options), lambda: 5_000_000)
    asyncio.run(receiver.receive(last, take))
    return taken


def test_events_are_messages_with_their_kind_and_id() -> None:
    with serving(Answering(Answer(content=TEXT, headers=STREAM))) as server:
        found = receive({"endpoint": server.url, "headers": "X-Key: hush"}, {"id": "6", "event": "message"})
        quotes = receive({"endpoint": server.url, "events": "quote, trade"})

    assert [(m.content, m.metadata.get("id"), m.metadata["event"]) for m in found] == [
        (event.data, event.id, event.kind) for event in EVENTS
    ]
    assert [message.content for message in quotes] == [b"{}"]
    asked = server.requests[0]
    assert (asked["last-event-id"], asked["accept"], asked["x-key"]) == ("6", "text/event-stream", "hush")
    assert "last-event-id" not in server.requests[1]


@pytest.mark.parametrize(
    "answer", [Answer(204), Answer(404), Answer(301), Answer(200, b"<html>", {"content-type": "text/html"})]
)
def test_answers_that_are_no_stream_end_the_run(answer: Answer) -> None:
    with serving(Answering(answer)) as server, pytest.raises(SourceRefusedError, match="answers") as caught:
        receive({"endpoint": server.url})
    assert "hush" not in str(caught.value)


def test_outages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Answering(Answer(503))) as server, pytest.raises(SourceUnavailableError, match="503") as caught:
        receive({"endpoint": server.url})
    assert caught.value.is_outage
    with pytest.raises(SourceUnavailableError, match="does not answer"):
        receive({"endpoint": f"http://localhost:{free_port()}"})
    monkeypatch.delenv(ALLOWED)
    with pytest.raises(AddressRefusedError):
        receive({"endpoint": "http://localhost:1"})


def test_a_new_connection_asks_for_the_events_after_the_newest_durable_one(tmp_path: Path) -> None:
    """The server stores events, and ends the connection after each."""
    numbered = [Answer(content=b'id: %d\ndata: {"n": %d}\n\n' % (n, n), headers=STREAM) for n in range(4)]
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    with serving(Answering(*numbered, Answer(401))) as server:
        options = SseOptions.model_validate({"endpoint": server.url})
        writer = LogWriter(tmp_path / "log", 2**30)
        error = asyncio.run(Reception("t", options, SseReceiver(options), writer, sleep).run())
        writer.close()

    assert "401" in error.message
    assert [request.get("last-event-id") for request in server.requests] == [None, "0", "1", "2", "3"]
    assert pauses == [1.0] * 4
    of = replace(table("sse", NUMBERS, {"id": "id"}, endpoint="http://localhost"), intake=tmp_path / "log")
    reader = source(of)
    last = reader.advance(start(reader), None)
    assert [(row["n"], row["id"]) for row in rows(between(reader, start(reader), last))] == [
        (n, str(n)) for n in range(4)
    ]


@pytest.mark.parametrize("check", SOURCE_CHECKS, ids=lambda check: check.__name__)
def test_the_source_keeps_the_contract(check: SourceCheck, tmp_path: Path) -> None:
    writer = LogWriter(tmp_path / "log", 2**30)
    writer.append([Message(b'{"n": %d}' % n, {"event": "message"}, 7) for n in range(300)])
    of = table("sse", NUMBERS, {"at": "received_time", "kind": "event"}, endpoint="http://localhost")

    check(replace(of, intake=tmp_path / "log"), 300)
