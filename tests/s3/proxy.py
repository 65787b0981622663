"""A TCP proxy that loses an answer: the request goes through, and then the connection is gone."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator


class Proxy:
    """Passes bytes on; while `drops` is above zero, it loses the answer to each request that `loses` picks."""

    def __init__(self, upstream: tuple[str, int], loses: Callable[[bytes], bool]) -> None:
        self._upstream = upstream
        self._loses = loses
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.drops = 0
        self.dropped = 0

    def serve(self) -> None:
        """Take connections until closed."""
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._socket.accept()
                threading.Thread(target=self._pass_on, args=(near,), daemon=True).start()

    def close(self) -> None:
        """Take no more."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _pass_on(self, near: socket.socket) -> None:
        with near, socket.create_connection(self._upstream) as far:
            lost = threading.Event()
            back = threading.Thread(target=self._answer, args=(far, near, lost), daemon=True)
            back.start()
            with contextlib.suppress(OSError):
                while data := near.recv(65536):
                    if self.drops and self._loses(data):
                        self.drops -= 1
                        lost.set()
                    far.sendall(data)
            with contextlib.suppress(OSError):
                far.shutdown(socket.SHUT_WR)
            back.join()

    def _answer(self, far: socket.socket, near: socket.socket, lost: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := far.recv(65536):
                if lost.is_set():
                    self.dropped += 1
                    near.shutdown(socket.SHUT_RDWR)
                    return
                near.sendall(data)


@contextlib.contextmanager
def losing(url: str, loses: Callable[[bytes], bool]) -> Iterator[Proxy]:
    """A proxy before a server."""
    host, port = url.removeprefix("http://").split(":")
    proxy = Proxy((host, int(port)), loses)
    thread = threading.Thread(target=proxy.serve, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.close()
        thread.join()
