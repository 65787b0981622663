"""A request is over when its time is, however an answer drips."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import httpx
import pytest

from engine.control.limited_time import LimitedTransport

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n"
SLOW_HEAD = b"HTTP/1.1 200 OK\r\n" + b"x-drip: 1\r\n" * 10_000


class Dripping:
    """A server that sends byte after byte; each moves a clock on by a second."""

    def __init__(self, answer: bytes, drips: bytes) -> None:
        self.seconds = 0.0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/"
        self.thread = threading.Thread(target=self._serve, args=(answer, drips))
        self.thread.start()

    def _serve(self, answer: bytes, drips: bytes) -> None:
        with suppress(OSError), self.listener, self.listener.accept()[0] as connection:
            connection.recv(65536)
            connection.sendall(answer)
            for byte in drips:
                self.seconds += 1
                connection.sendall(bytes([byte]))


@pytest.fixture(params=["body", "head"])
def dripping(request: pytest.FixtureRequest) -> Iterator[Dripping]:
    server = Dripping(HEAD, b"." * 100_000) if request.param == "body" else Dripping(b"", SLOW_HEAD)
    yield server
    server.listener.close()
    server.thread.join()


def test_an_answer_that_drips_is_given_up(dripping: Dripping) -> None:
    transport = LimitedTransport(dripping.url, 30, clock=lambda: dripping.seconds)
    with httpx.Client(transport=transport) as client, pytest.raises(httpx.ReadTimeout, match="30 seconds in all"):
        client.get(dripping.url)


def test_response_in_time_is_complete_and_the_next_request_has_its_own_deadline() -> None:
    times = iter(range(0, 1_000_000, 5))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"

        def serve() -> None:
            with listener.accept()[0] as connection:
                for _ in range(3):
                    connection.recv(65536)
                    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")

        thread = threading.Thread(target=serve)
        thread.start()
        with httpx.Client(transport=LimitedTransport(url, 60, clock=lambda: float(next(times)))) as client:
            answers = [client.get(url).text for _ in range(3)]
        thread.join()

    assert answers == ["ok"] * 3
