"""A wire between clients and a broker on which answers get lost."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tests.kafka.broker import Broker

PRODUCE, LIST_OFFSETS, METADATA, OFFSET_FETCH, END_TXN = 0, 2, 3, 9, 26
"""Kafka's numbers for requests; the last commits or aborts a transaction."""


@dataclass(slots=True)
class Wire:
    """Loses the answers to the next `count` requests of one kind, and the connections with them."""

    request: int = END_TXN
    count: int = 0
    lost: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def loses(self, request: int) -> bool:
        with self.lock:
            if request != self.request or self.lost >= self.count:
                return False
            self.lost += 1
            return True


@contextmanager
def proxied(broker: Broker, wire: Wire) -> Iterator[str]:
    """The address of the broker behind the wire."""
    [node] = broker.nodes
    with socket.create_server(("127.0.0.1", node.proxied_port)) as server:
        threading.Thread(target=_serve, args=(server, node.inner_port, wire), daemon=True).start()
        try:
            yield broker.proxied_address
        finally:
            # closing alone would leave it open for as long as somebody waits in accept()
            server.shutdown(socket.SHUT_RDWR)


def _serve(server: socket.socket, port: int, wire: Wire) -> None:
    with suppress(OSError):
        while True:
            client, _ = server.accept()
            threading.Thread(target=_talk, args=(client, port, wire), daemon=True).start()


def _talk(client: socket.socket, port: int, wire: Wire) -> None:
    """One connection: requests are looked at one by one, answers go back unseen until one is to be lost."""
    is_cut = threading.Event()
    with client, socket.create_connection(("127.0.0.1", port)) as upstream:
        threading.Thread(target=_answer, args=(upstream, client, is_cut), daemon=True).start()
        with suppress(OSError):
            while frame := _frame(client):
                if wire.loses(struct.unpack(">h", frame[4:6])[0]):
                    is_cut.set()
                upstream.sendall(frame)


def _answer(upstream: socket.socket, client: socket.socket, is_cut: threading.Event) -> None:
    with suppress(OSError):
        while frame := _frame(upstream):
            if is_cut.is_set():
                break
            client.sendall(frame)
        client.shutdown(socket.SHUT_RDWR)


def _frame(source: socket.socket) -> bytes:
    """A request or an answer, with its length before it; nothing at the end."""
    size = _exactly(source, 4)
    return size + _exactly(source, struct.unpack(">i", size)[0]) if size else b""


def _exactly(source: socket.socket, size: int) -> bytes:
    buffer = b""
    while len(buffer) < size:
        more = source.recv(size - len(buffer))
        if not more:
            return b""
        buffer += more
    return buffer
