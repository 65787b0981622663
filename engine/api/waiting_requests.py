"""Tells requests that wait for a pipeline when something about it has changed."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field


@dataclass(slots=True)
class Changes:
    """Rung from any thread, waited for on the event loop; a waiting request holds no thread."""

    _loop: asyncio.AbstractEventLoop | None = None
    _waiting: dict[str, set[asyncio.Event]] = field(default_factory=lambda: defaultdict(set))
    is_closed: bool = False

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Say on which loop the requests wait."""
        self._loop = loop

    def notify(self, pipeline_id: str) -> None:
        """Wake all who wait for this pipeline."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake, pipeline_id)

    def close(self) -> None:
        """Wake everybody, and let nobody wait any more."""
        self.is_closed = True
        for pipeline_id in list(self._waiting):
            self._wake(pipeline_id)

    def watch(self, pipeline_id: str) -> asyncio.Event:
        """Set at the next change. Begin to watch, then look, then wait: so no change is missed."""
        event = asyncio.Event()
        if self.is_closed:
            event.set()
        else:
            self._waiting[pipeline_id].add(event)
        return event

    def forget(self, pipeline_id: str, event: asyncio.Event) -> None:
        """Watch no more."""
        self._waiting[pipeline_id].discard(event)
        if not self._waiting[pipeline_id]:
            del self._waiting[pipeline_id]

    def _wake(self, pipeline_id: str) -> None:
        for event in self._waiting.get(pipeline_id, ()):
            event.set()
