"""Brings the changes of all pipelines to those who read them, however many they are and however slowly they read.

    kept      orders 7    clicks 8    visits 9          the newest change of each pipeline, by number
    clicks reports an epoch: the store is read once, from 10 on
    kept      orders 7    visits 9    clicks 10
    a reader that has 8 takes 9 and 10; one that has slept since 2 takes 7, 9, 10 and is as far

A reader is a number. Nothing is queued for it, so one that is slow or gone costs nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool

LOG = logging.getLogger(__name__)
_REST_SECONDS = 0.1
"""How long nobody looks after a look: what changes meanwhile is read together, and what changes later at once."""
_LOOK_SECONDS = 2.0
"""How long a change that nobody has rung for is not seen at most."""


@dataclass(frozen=True, slots=True)
class FeedItem:
    """The newest change of one pipeline, as it is sent."""

    number: int
    pipeline_id: str
    text: str
    is_preview: bool = False


@dataclass(frozen=True, slots=True)
class News:
    """What has changed since a number, which log that is, and up to where deletions in it are forgotten."""

    log: str
    forgotten: int
    items: Sequence[FeedItem]


@dataclass(slots=True)
class ChangeFeed:
    """Used on the event loop only. While nobody reads, nothing is kept and nothing is looked at."""

    _read: Callable[[int], News] | None = None
    _items: dict[str, FeedItem] = field(default_factory=dict)
    """In the order of their numbers."""
    _newest: int = 0
    log: str = ""
    forgotten: int = 0
    _readers: int = 0
    _tending: asyncio.Task[None] | None = None
    _rung: asyncio.Event = field(default_factory=asyncio.Event)
    _grown: asyncio.Event = field(default_factory=asyncio.Event)
    is_closed: bool = False

    def attach(self, read: Callable[[int], News]) -> None:
        """Say how the changes since a number are read; that may take a while."""
        self._read = read

    def ring(self) -> None:
        """Something has changed."""
        self._rung.set()

    def close(self) -> None:
        """Let all readers go."""
        self.is_closed = True
        self._grown.set()
        self._rung.set()

    def rouse(self) -> None:
        """Wake all readers, to see what has changed or whether they are let in any more."""
        self._grown.set()
        self._grown = asyncio.Event()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Have changes kept for as long as somebody reads."""
        self._readers += 1
        try:
            yield
        finally:
            self._readers -= 1
            if self._readers == 0:
                self._forget()

    async def look(self) -> None:
        """Read what is new; whoever begins to read looks first. A failure of the store is raised."""
        if self._read is None:
            return
        news = await run_in_threadpool(self._read, self._newest)
        for item in news.items:
            if item.number > self._newest:
                self._items.pop(item.pipeline_id, None)
                self._items[item.pipeline_id] = item
                self._newest = item.number
        self.log, self.forgotten = news.log, news.forgotten
        if news.items:
            self.rouse()
        if self._tending is None and self._readers > 0:
            self._tending = asyncio.get_running_loop().create_task(self._tend())

    @property
    def newest(self) -> int:
        """The number of the newest change, also of a preview; 0 without any."""
        return self._newest

    def after(self, number: int) -> Sequence[FeedItem]:
        """Return the changes after a number, in order, without previews."""
        items: list[FeedItem] = []
        for item in reversed(self._items.values()):
            if item.number <= number:
                break
            if not item.is_preview:
                items.append(item)
        return items[::-1]

    def knows(self, number: int) -> bool:
        """Whether a reader that has come so far in this log misses nothing if it goes on."""
        return self.forgotten <= number <= self._newest

    async def wait(self, number: int, seconds: float) -> bool:
        """Wait until there is something after a number, or readers are roused; False when neither is after so long."""
        if self._newest > number or self.is_closed:
            return not self.is_closed
        grown = self._grown
        try:
            await asyncio.wait_for(grown.wait(), seconds)
        except TimeoutError:
            return False
        return not self.is_closed

    async def _tend(self) -> None:
        """Look whenever it is rung, and now and then without that."""
        while not self.is_closed:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._rung.wait(), _LOOK_SECONDS)
            self._rung.clear()
            try:
                await self.look()
            except Exception:
                LOG.exception("changes cannot be read now; they are looked for again")
                await asyncio.sleep(_LOOK_SECONDS)
            await asyncio.sleep(_REST_SECONDS)

    def _forget(self) -> None:
        if self._tending is not None:
            self._tending.cancel()
            self._tending = None
        self._items.clear()
        self._newest = 0
