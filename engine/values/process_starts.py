"""Starts of processes, one at a time, and none any more once this process is to end with all that it has started.

    one thread       looks for what was started, to end it     ends this process
    another thread         starts Java, which nobody has seen

Such a Java would come up by itself, find out that nobody wants it, and write its archive of classes before it goes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_PATIENCE = 10.0
"""Seconds that a start may hold up the end: what starts on a disk that does not answer is not waited for."""
_guard = threading.Lock()


@contextmanager
def starting_process() -> Iterator[None]:
    """A process is started in this block."""
    with _guard:
        yield


def start_none_any_more() -> None:
    """Wait until no process is being started. Whoever wants to start one afterwards waits until this process ends."""
    _guard.acquire(timeout=_PATIENCE)
