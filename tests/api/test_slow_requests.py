"""A request has so long to arrive, with either parser; one that has arrived may be held."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from engine.api.http.slow_requests import LIMIT, limited

HEAD = b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 4\r\n\r\n"


class Timer:
    def __init__(self, seconds: float, work: Callable[[], None]) -> None:
        self.seconds, self.work, self.is_cancelled = seconds, work, False

    def cancel(self) -> None:
        self.is_cancelled = True


class Task:
    def add_done_callback(self, _: object) -> None: ...


class Loop:
    """A loop whose clock the test is."""

    def __init__(self) -> None:
        self.timers: list[Timer] = []

    def call_later(self, seconds: float, work: Callable[[], None], *_: object) -> Timer:
        self.timers.append(Timer(seconds, work))
        return self.timers[-1]

    def create_task(self, work: Coroutine[Any, Any, None], **_: object) -> Task:
        work.close()
        return Task()

    def running(self) -> list[Timer]:
        return [timer for timer in self.timers if not timer.is_cancelled and timer.seconds == LIMIT.total_seconds()]


class Transport:
    def __init__(self) -> None:
        self.sent, self.is_closed = b"", False

    def get_extra_info(self, _: str) -> None:
        return None

    def is_closing(self) -> bool:
        return self.is_closed

    def write(self, data: bytes) -> None:
        self.sent += data

    def close(self) -> None:
        self.is_closed = True

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


async def app(scope: Any, receive: Any, send: Any) -> None: ...


@pytest.fixture(params=[H11Protocol, HttpToolsProtocol])
def opened(request: pytest.FixtureRequest) -> tuple[Any, Loop, Transport]:
    loop, transport = Loop(), Transport()
    config = uvicorn.Config(app, interface="asgi3", lifespan="off", log_level="critical")
    protocol = limited(request.param)(config, ServerState(), {}, _loop=loop)
    protocol.connection_made(transport)
    return protocol, loop, transport


@pytest.mark.parametrize("pieces", [[], [b"G"], [b"GET / HT", b"TP/1.1\r\n", b"Host: here\r\n"], [HEAD], [HEAD, b"ab"]])
def test_a_request_that_is_not_complete_in_time_is_answered_with_a_problem_and_closed(
    opened: tuple[Any, Loop, Transport], pieces: list[bytes]
) -> None:
    protocol, loop, transport = opened
    for piece in pieces:
        protocol.data_received(piece)

    [timer] = loop.running()
    timer.work()

    head, _, body = transport.sent.partition(b"\r\n\r\n")
    assert transport.is_closed
    assert head.startswith(b"HTTP/1.1 408 ")
    assert json.loads(body)["code"] == "request.too_slow"


@pytest.mark.parametrize(
    "pieces", [[b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"], [HEAD, b"abcd"], [HEAD[:9], HEAD[9:] + b"abcd"]]
)
def test_a_request_that_is_complete_may_be_held_for_ever(
    opened: tuple[Any, Loop, Transport], pieces: list[bytes]
) -> None:
    protocol, loop, transport = opened
    for piece in pieces:
        protocol.data_received(piece)

    assert loop.running() == []
    assert not transport.is_closed


def test_a_connection_that_is_gone_is_not_waited_for(opened: tuple[Any, Loop, Transport]) -> None:
    protocol, loop, _ = opened
    protocol.data_received(b"GET / HT")

    protocol.connection_lost(None)

    assert loop.running() == []
