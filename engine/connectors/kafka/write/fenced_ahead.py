"""Create and fence the producer of the next epoch in advance, which takes the client half a second.

    epoch 6 is committed       a thread starts a producer, which fences off that of epoch 6, and finds the ledger
    epoch 7 arrives            takes that producer, reads the ledger, and sends its records

The order in `transaction.py` still holds: fence, read the ledger, write. A later writer would fence off this producer,
and its transaction would fail. In that case, or if no producer is ready in time, or it is older than brokers keep a
silent connection, the epoch creates its own. The ledger is read only when the epoch arrives, because it disappears with
a topic that is deleted meanwhile, which no fence prevents.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Generic, TypeVar

T = TypeVar("T")
LOG = logging.getLogger(__name__)

MOST_AGE = timedelta(minutes=5)
"""Largest age of a prepared producer. Brokers close connections after ten minutes of silence."""


@dataclass(slots=True)
class _Made(Generic[T]):
    """Value that a thread makes, and when it was ready."""

    is_over: threading.Event = field(default_factory=threading.Event)
    value: T | None = None
    since: float = 0.0

    def make(self, maker: Callable[[], T], clock: Callable[[], float]) -> None:
        try:
            self.value = maker()
        except Exception as error:  # noqa: BLE001 - the epoch meets it again, and says it
            LOG.debug("no producer is ready for the next epoch: %s", error)
        finally:
            self.since = clock()
            self.is_over.set()


@dataclass(slots=True)
class MadeAhead(Generic[T]):
    """One value per key, made by a thread. Each is returned once."""

    clock: Callable[[], float] = time.monotonic
    _by_key: dict[object, _Made[T]] = field(default_factory=dict)

    def make(self, key: object, maker: Callable[[], T]) -> None:
        """Start to create one. An unused one of the same key is dropped."""
        made = _Made[T]()
        # the end of the process does not wait for it
        threading.Thread(target=made.make, args=(maker, self.clock), name="fence ahead", daemon=True).start()
        self._by_key[key] = made

    def take(self, key: object) -> T | None:
        """Return the producer of that key, once it is ready; None if there is none, it failed, or it is too old."""
        made = self._by_key.pop(key, None)
        if made is None:
            return None
        made.is_over.wait()
        return None if self.clock() - made.since > MOST_AGE.total_seconds() else made.value
