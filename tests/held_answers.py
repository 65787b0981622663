"""A wire between clients and an HTTP server on which answers can be held: the request has arrived and was carried out,
and whoever has sent it does not know yet, nor by asking again.

    answers.hold(rb"PUT /api/v1/pipelines/by-name/orders ")
    ...                                # the client sends it, the server does it
    answers.held(within=60)            # and the answer waits here
    answers.release()
"""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_STILL, _STILL_SECONDS = b"HTTP/1.1 102 Processing\r\n\r\n", 5.0
"""What is sent meanwhile: whoever waits would give up, and ask again, on a machine on which others come up slowly."""


@dataclass(slots=True)
class _Hold:
    """The answers to requests that fit are held until it is released."""

    request: re.Pattern[bytes]
    is_there: threading.Event = field(default_factory=threading.Event)
    is_released: threading.Event = field(default_factory=threading.Event)


@dataclass(slots=True)
class HeldAnswers:
    """What is held on a wire; several answers may be at once."""

    url: str
    upstream: tuple[str, int]
    asked: list[bytes] = field(default_factory=list)
    """The first lines of all requests so far."""
    _holds: list[_Hold] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def hold(self, request: bytes) -> None:
        """Hold the answers to requests whose first line fits."""
        with self._lock:
            self._holds.append(_Hold(re.compile(request)))

    def held(self, within: float = 120) -> None:
        """Return when all that is to be held is."""
        for hold in list(self._holds):
            assert hold.is_there.wait(within), f"there was no {hold.request.pattern!r}"

    def release(self) -> None:
        """Let all answers go on; hold nothing more."""
        with self._lock:
            holds, self._holds = self._holds, []
        for hold in holds:
            hold.is_released.set()

    def take(self, request: bytes) -> _Hold | None:
        """Note a request; the hold that it falls under, if there is one."""
        with self._lock:
            self.asked.append(request.partition(b"\r\n")[0])
            for hold in self._holds:
                if hold.request.match(request):
                    return hold
        return None


@contextmanager
def holding(url: str) -> Iterator[HeldAnswers]:
    """A wire before the server of a URL; all that goes over it ends with the block."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    with socket.create_server(("127.0.0.1", 0)) as server:
        answers = HeldAnswers(f"http://127.0.0.1:{server.getsockname()[1]}", (parts.hostname, parts.port))
        threading.Thread(target=_serve, args=(server, answers), daemon=True).start()
        try:
            yield answers
        finally:
            answers.release()
            server.shutdown(socket.SHUT_RDWR)  # closing alone leaves it open for whoever waits in accept()


def _serve(server: socket.socket, answers: HeldAnswers) -> None:
    with suppress(OSError):
        while True:
            client, _ = server.accept()
            threading.Thread(target=_talk, args=(client, answers), daemon=True).start()


def _talk(client: socket.socket, answers: HeldAnswers) -> None:
    """One connection. A client sends no request before it has the answer to the one before."""
    holds: list[_Hold] = []
    with client, suppress(OSError), socket.create_connection(answers.upstream) as server:
        back = threading.Thread(target=_answer, args=(server, client, holds), daemon=True)
        back.start()
        while sent := client.recv(65536):
            if (hold := answers.take(sent)) is not None:
                holds.append(hold)
            server.sendall(sent)
        server.shutdown(socket.SHUT_RDWR)
        back.join()


def _answer(server: socket.socket, client: socket.socket, holds: list[_Hold]) -> None:
    with suppress(OSError):
        while answered := server.recv(65536):
            for hold in holds:
                hold.is_there.set()
                while not hold.is_released.wait(_STILL_SECONDS):
                    client.sendall(_STILL)
            client.sendall(answered)
        client.shutdown(socket.SHUT_RDWR)
