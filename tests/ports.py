"""Ports for servers that tests start.

A port that the system gives is given to the next caller as well once it is let go, and Airflow takes ten seconds to
come to its own: so these lie below those, and none is given twice by one process before all the others were.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress

_FIRST, _COUNT = 22_500, 9_000


def _numbers() -> Iterator[int]:
    """Where to look, beginning elsewhere in each process."""
    at = os.getpid() * 61
    while True:
        yield _FIRST + at % _COUNT
        at += 1


_OF_PROCESS: dict[int, Iterator[int]] = {}


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, and that stay free while a server is dead."""
    numbers, ports = _OF_PROCESS.setdefault(os.getpid(), _numbers()), list[int]()
    with ExitStack() as stack:
        for _ in range(_COUNT):
            probe = stack.enter_context(closing(socket.socket()))
            with suppress(OSError):
                probe.bind(("127.0.0.1", next(numbers)))
                ports.append(probe.getsockname()[1])
            if len(ports) == count:
                return ports
    raise AssertionError


def free_port() -> int:
    """One of them."""
    [port] = free_ports(1)
    return port
