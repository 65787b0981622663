"""Serialise starts of processes, and prevent them once this process is ending its child processes.

    one thread       looks for child processes to end          ends this process
    another thread         starts Java, which the first has not seen

Such a JVM would start, find that it is not needed, and write its class archive before it exits.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_PATIENCE = 10.0
"""Seconds for which a start may delay the end: a start on a hanging disk is not waited for."""
_guard = threading.Lock()


@contextmanager
def starting_process() -> Iterator[None]:
    """A process is started in this block."""
    with _guard:
        yield


def start_none_any_more() -> None:
    """Wait until no process is being started. Whoever wants to start one afterwards waits until this process ends."""
    _guard.acquire(timeout=_PATIENCE)
