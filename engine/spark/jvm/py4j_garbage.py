"""Release Java objects that Python no longer needs, and finish doing so before the JVM ends.

py4j sends the releases in a thread of its own. A release that is in flight while the JVM ends raises an error, which
py4j prints on the user's terminal.
"""

from __future__ import annotations

from datetime import timedelta
from threading import Lock
from typing import Protocol

_PATIENCE = timedelta(seconds=5)
"""Timeout of one message. A JVM that does not answer in time is killed anyway."""


class Py4jClient(Protocol):
    """The part of py4j's client that this module uses."""

    def garbage_collect_object(self, target_id: str, enqueue: bool = True) -> None:
        """Record that an object is garbage, or tell the JVM immediately."""


class Garbage:
    """Sends the release messages of one py4j client."""

    def __init__(self, client: Py4jClient) -> None:
        self._collect = client.garbage_collect_object
        self._sending = Lock()
        self._has_ended = False
        client.garbage_collect_object = self._send_or_drop  # type: ignore[method-assign]

    def end(self) -> None:
        """Send no more requests; none is in flight when this returns, unless the JVM does not answer."""
        sending = self._sending.acquire(timeout=_PATIENCE.total_seconds())
        self._has_ended = True
        if sending:
            self._sending.release()

    def _send_or_drop(self, target_id: str, enqueue: bool = True) -> None:
        if enqueue:  # happens anywhere, also while this thread has the lock: it must not be taken here
            self._collect(target_id)
            return
        with self._sending:
            if not self._has_ended:
                self._collect(target_id, False)
