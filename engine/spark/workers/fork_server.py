"""Server that does the imports once, and forks processes: `python -m engine.spark.workers.fork_server DESCRIPTOR`.

The descriptor is that of a listening socket, so clients can connect before the imports are done. The server ends when
its standard input closes, which the driver holds open, so also if the driver is killed. Its children continue until
Spark closes their connections.
"""

from __future__ import annotations

import gc
import os
import random
import runpy
import selectors
import signal
import socket
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

MAY_I, YOU_MAY, IT_IS_THERE = b"?", b"!", b"+"
"""Messages of the handshake: the server's question before the fork, the client's confirmation, the server's success."""
NEEDED = (
    "engine.spark.write.write_segments",
    "engine.spark.read.source",
    "engine.spark.read.reading",
    "engine.updating.aggregate",
    "pyspark.worker",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.plan_data_source_read",
)
NAMES = {
    "engine.spark.workers.daemon": "workers",
    "pyspark.sql.streaming.python_streaming_source_runner": "planner",
}
"""Names of child processes in `ps` and `top`; others get the last part of their module's name. Their command line is
the server's."""
_MODULE = "-m"
_PATIENCE = 5.0
"""Timeout for a client that connects and sends nothing."""
_MOST_BYTES = 1 << 24
_CREDENTIALS = struct.Struct("3i")


@dataclass(frozen=True, slots=True)
class Request:
    """A process to fork: module with arguments, environment, folder, and the descriptors 0, 1 and 2."""

    arguments: Sequence[str]
    environment: dict[str, str]
    folder: str
    descriptors: Sequence[int]

    def become(self) -> None:
        """Be that process, as Python would be with these arguments."""
        for number, descriptor in enumerate(self.descriptors):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.environ.clear()
        os.environ.update(self.environment)
        with suppress(OSError):
            os.chdir(self.folder)
        if self.environment.get("PYTHONUNBUFFERED"):
            for stream in (sys.stdout, sys.stderr):
                stream.reconfigure(write_through=True)  # type: ignore[union-attr]
        asked = [path for path in self.environment.get("PYTHONPATH", "").split(os.pathsep) if path]
        sys.path[:] = [self.folder, *asked, *(path for path in sys.path[1:] if path not in asked)]
        sys.argv = list(self.arguments[1:])
        with suppress(OSError):
            name = NAMES.get(self.arguments[1], self.arguments[1].rpartition(".")[2])
            Path("/proc/self/comm").write_text(name[:15])
        random.seed()
        runpy.run_module(self.arguments[1], run_name="__main__", alter_sys=True)


@dataclass(slots=True)
class Server:
    """Accepts clients, forks, and reports exit statuses to the clients."""

    listener: socket.socket
    life: int
    """Descriptor that shows whether the driver is alive."""
    _clients: dict[int, socket.socket] = field(default_factory=dict)
    """Clients by process id."""

    def serve(self) -> Request | None:
        """Return in each process that is forked, with what it is to be; here only when the driver has gone."""
        with selectors.DefaultSelector() as selector:
            ends, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
            signal.signal(signal.SIGCHLD, lambda *_: None)
            signal.set_wakeup_fd(wake)
            for watched in (self.listener, self.life, ends):
                selector.register(watched, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fd == self.life:
                        return None
                    if key.fd == ends:
                        os.read(ends, 512)
                        self._reap(selector)
                    elif key.fd == self.listener.fileno():
                        if (request := self._fork(selector)) is not None:
                            signal.set_wakeup_fd(-1)
                            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                            os.close(ends)
                            os.close(wake)
                            return request
                    else:
                        self._end(key.fileobj, selector)

    def _fork(self, selector: selectors.BaseSelector) -> Request | None:
        """Return the request, in the process that is to be it; None here."""
        client, _ = self.listener.accept()
        try:
            request = _received(client)
        except (OSError, ValueError):
            client.close()
            return None
        try:
            child = os.fork()
        except OSError:  # no memory, or too many processes
            for descriptor in request.descriptors:
                os.close(descriptor)
            client.close()
            return None
        if child == 0:
            for connection in (client, self.listener, *self._clients.values()):
                connection.close()
            return request
        for descriptor in request.descriptors:
            os.close(descriptor)
        self._clients[child] = client
        selector.register(client, selectors.EVENT_READ)
        _tell(client, IT_IS_THERE)
        return None

    def _reap(self, selector: selectors.BaseSelector) -> None:
        while True:
            try:
                child, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if child == 0:
                return
            if (client := self._clients.pop(child, None)) is not None:
                code = os.waitstatus_to_exitcode(status)
                _tell(client, bytes((-code, 0) if code < 0 else (0, code)))
                selector.unregister(client)
                client.close()

    def _end(self, client: object, selector: selectors.BaseSelector) -> None:
        """End the process of a client that Spark has ended, unless it has just ended by itself."""
        child = next((child for child, its_client in self._clients.items() if its_client is client), None)
        if child is None:
            return
        connection = self._clients.pop(child)
        selector.unregister(connection)
        connection.close()
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGTERM)


def _tell(client: socket.socket, answer: bytes) -> None:
    with suppress(OSError):
        client.sendall(answer)


def _received(client: socket.socket) -> Request:
    """Receive a request; only a client of the same user is accepted."""
    client.settimeout(_PATIENCE)
    credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    if _CREDENTIALS.unpack(credentials)[1] != os.getuid():
        raise PermissionError
    size, descriptors, _, _ = socket.recv_fds(client, 4, 3)
    try:
        length = int.from_bytes(size, "big")
        if len(size) != 4 or len(descriptors) != 3 or length > _MOST_BYTES:
            raise ValueError(size)
        text = bytearray()
        while len(text) < length:
            if not (more := client.recv(length - len(text))):
                raise ValueError(length)
            text += more
        folder, count, *rest = bytes(text).decode(errors="surrogateescape").split("\0")
        arguments, variables = rest[: int(count)], rest[int(count) :]
        if len(arguments) < 2 or arguments[0] != _MODULE:
            raise ValueError(arguments)
        client.sendall(MAY_I)
        if client.recv(1) != YOU_MAY:  # it has lost patience, and is Python by now
            raise ValueError(arguments)
    except (OSError, ValueError):
        for descriptor in descriptors:
            os.close(descriptor)
        raise
    client.settimeout(None)
    return Request(arguments, dict(variable.split("=", 1) for variable in variables), folder, descriptors)


def main() -> None:
    """Import, and serve."""
    listener = socket.socket(fileno=int(sys.argv[1]))
    for module in NEEDED:
        import_module(module)
    # a worker looks for garbage after every task: what was there before the fork is left out of that
    gc.freeze()
    if (request := Server(listener, sys.stdin.fileno()).serve()) is not None:
        request.become()


if __name__ == "__main__":
    main()
