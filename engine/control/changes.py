"""Notify waiting requests of changes of pipelines.

Feed of the changes of all pipelines, for any number of readers at any speed.

    stored    orders 7    clicks 8    visits 9          the newest change of each pipeline, by number
    clicks reports an epoch: the store is read once, from 10 on
    stored    orders 7    visits 9    clicks 10
    a reader at 8 gets 9 and 10; a reader at 2 gets 7, 9, 10, and both are up to date

A reader is a number. Nothing is queued for it, so a slow or disconnected reader costs nothing.

Wake held requests when their pipeline satisfies their condition.

    25 requests wait for orders, 25 for clicks; clicks reports an epoch
    read clicks once, for all of them; orders is not read
    compare the result with the condition of each of the 25
    wake the three whose gates it passes; the others are not touched

300 requests for 300 pipelines that all report an epoch are served by one or two reads.

Share reads among readers of the feed, too: 300 that begin at once cost one or two reads of all pipelines.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from starlette.concurrency import run_in_threadpool

from engine.errors import EngineError
from engine.jobs.actors import JobRecord

LOG = logging.getLogger(__name__)
_REST_SECONDS = 0.1
"""Pause after a read: changes in it are read together, and later ones at once."""
_LOOK_SECONDS = 2.0
"""Longest delay of a change without a notification."""


@dataclass(frozen=True, slots=True)
class FeedItem:
    """Newest change of one pipeline, as it is sent."""

    number: int
    pipeline_id: str
    text: str
    is_preview: bool = False


@dataclass(frozen=True, slots=True)
class News:
    """Changes since a number, the identity of the log, and the number up to which deletions are forgotten."""

    log: str
    forgotten: int
    items: Sequence[FeedItem]


@dataclass(slots=True)
class ChangeFeed:
    """Used on the event loop only. Without readers, nothing is stored or read."""

    _read: Callable[[int], News] | None = None
    _items: dict[str, FeedItem] = field(default_factory=dict)
    """In the order of their numbers."""
    _newest: int = 0
    log: str = ""
    forgotten: int = 0
    _readers: int = 0
    _coming: asyncio.Future[None] | None = None
    """Done after the next read; a reader that begins before that joins it."""
    _looking: asyncio.Task[None] | None = None
    _tending: asyncio.Task[None] | None = None
    _rung: asyncio.Event = field(default_factory=asyncio.Event)
    _grown: asyncio.Event = field(default_factory=asyncio.Event)
    is_closed: bool = False

    def attach(self, read: Callable[[int], News]) -> None:
        """Set how the changes since a number are read; that may take a while."""
        self._read = read

    def ring(self) -> None:
        """Wake the feed after a change."""
        self._rung.set()

    def close(self) -> None:
        """Release all readers."""
        self.is_closed = True
        self._grown.set()
        self._rung.set()

    def rouse(self) -> None:
        """Wake all readers, to check for changes and whether their tokens are still valid."""
        self._grown.set()
        self._grown = asyncio.Event()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Store changes while there are readers."""
        self._readers += 1
        try:
            yield
        finally:
            self._readers -= 1
            if self._readers == 0:
                self._forget()

    async def look(self) -> None:
        """Read new changes; a new reader calls this first. An error of the store is raised. The read begins after the
        call, and is shared with other readers."""
        if self._read is None:
            return
        loop = asyncio.get_running_loop()
        if self._coming is None:
            self._coming = loop.create_future()
            if self._looking is None:
                self._looking = loop.create_task(self._look(self._read))
        await asyncio.shield(self._coming)
        if self._tending is None and self._readers > 0:
            self._tending = loop.create_task(self._tend())

    async def _look(self, read: Callable[[int], News]) -> None:
        try:
            while (coming := self._coming) is not None:
                self._coming = None
                try:
                    self._take(await run_in_threadpool(read, self._newest))
                except Exception as error:  # noqa: BLE001 - each of the readers raises it, as if it had read by itself
                    settle_with_error(coming, error)
                else:
                    coming.set_result(None)
        finally:
            if self._looking is asyncio.current_task():  # otherwise the last reader has left, and others have come
                self._looking = None

    def _take(self, news: News) -> None:
        for item in news.items:
            if item.number > self._newest:
                self._items.pop(item.pipeline_id, None)
                self._items[item.pipeline_id] = item
                self._newest = item.number
        self.log, self.forgotten = news.log, news.forgotten
        if news.items:
            self.rouse()

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
        """Whether a reader at this position of this log can continue without missing a change."""
        return self.forgotten <= number <= self._newest

    async def wait(self, number: int, seconds: float) -> bool:
        """Wait until there is a change after a number, or until readers are woken; return False on timeout."""
        if self._newest > number or self.is_closed:
            return not self.is_closed
        grown = self._grown
        try:
            await asyncio.wait_for(grown.wait(), seconds)
        except TimeoutError:
            return False
        return not self.is_closed

    async def _tend(self) -> None:
        """Read changes whenever the feed is woken, and periodically."""
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
        if self._looking is not None:
            self._looking.cancel()
            self._looking = self._coming = None
        self._items.clear()
        self._newest = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """A pipeline as it was read, and whether its state will be discarded."""

    record: JobRecord
    is_state_given_up: bool


@dataclass(frozen=True, slots=True, eq=False)
class HeldRequest:
    """A held request. `answer` is set once it `is_over`, or an error if it can never be satisfied."""

    is_over: Callable[[Reading], bool]
    answer: asyncio.Future[Reading]

    def look(self, reading: Reading) -> None:
        """End the wait if its condition is met."""
        try:
            if not self.answer.done() and self.is_over(reading):
                self.answer.set_result(reading)
        except EngineError as error:
            self.answer.set_exception(error)

    def give_up(self, error: Exception) -> None:
        """End the wait without its condition."""
        if not self.answer.done():
            self.answer.set_exception(error)


ReadAll = Callable[[Sequence[str]], Mapping[str, Reading | Exception]]
"""Reads pipelines by id or by name; returns for each the result or the error."""


@dataclass(slots=True)
class SharedReads:
    """Reads of pipelines that requests share: 300 concurrent requests cost one or two reads, also for different
    pipelines. A request gets the result of a read that began after the request."""

    _next: dict[str, asyncio.Future[Reading]] = field(default_factory=dict)
    """Requests of the next read, by pipeline; later requests join it."""
    _task: asyncio.Task[None] | None = None

    async def read(self, pipeline: str, read_all: ReadAll) -> Reading:
        """Return the current pipeline, by id or by name; raise the errors of the read."""
        loop = asyncio.get_running_loop()
        if (coming := self._next.get(pipeline)) is None:
            coming = self._next[pipeline] = loop.create_future()
            if self._task is None:
                self._task = loop.create_task(self._work(read_all))
        return await asyncio.shield(coming)

    async def _work(self, read_all: ReadAll) -> None:
        try:
            while self._next:
                asked, self._next = self._next, {}
                try:
                    found = await run_in_threadpool(read_all, list(asked))
                except Exception as error:  # noqa: BLE001 - each of the requests raises it, as if it had read by itself
                    found = dict.fromkeys(asked, error)
                for pipeline, answer in asked.items():
                    _settle(answer, found[pipeline])
        finally:
            self._task = None


def _settle(answer: asyncio.Future[Reading], found: Reading | Exception) -> None:
    if isinstance(found, Exception):
        settle_with_error(answer, found)
    else:
        answer.set_result(found)


def settle_with_error(answer: asyncio.Future[Any], error: Exception) -> None:
    """Raise this error in the waiting request, unless that is gone: asyncio would warn."""
    answer.set_exception(error)
    answer.exception()


@dataclass(slots=True)
class Changes:
    """Notified from any thread, waited for on the event loop; a waiting request uses no thread."""

    feed: ChangeFeed = field(default_factory=ChangeFeed)
    """For readers of the changes of all pipelines."""
    reads: SharedReads = field(default_factory=SharedReads)
    """For requests that wait for one pipeline."""
    _loop: asyncio.AbstractEventLoop | None = None
    _read: ReadAll | None = None
    _waiting: dict[str, set[HeldRequest]] = field(default_factory=dict)
    _looks: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _rung: set[str] = field(default_factory=set)
    """Pipelines that have changed since the current read began."""
    is_closed: bool = False

    def attach(self, loop: asyncio.AbstractEventLoop, read: ReadAll) -> None:
        """Set the loop on which the requests wait, and how pipelines are read; that may take a while."""
        self._loop = loop
        self._read = read

    def notify(self, pipeline_id: str) -> None:
        """Check the requests that wait for this pipeline."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ring, pipeline_id)

    def somebody_has_left(self) -> None:
        """Let readers of all pipelines' changes check whether their tokens are still valid."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.feed.rouse)

    def close(self) -> None:
        """Release all waiting requests, and accept no more."""
        self.is_closed = True
        self.feed.close()
        for waits in self._waiting.values():
            for wait in waits:
                wait.answer.cancel()

    def watch(self, pipeline_id: str, is_over: Callable[[Reading], bool]) -> HeldRequest:
        """Wait for a change that meets the condition. Register first, then read, then wait: so no change is missed."""
        wait = HeldRequest(is_over, asyncio.get_running_loop().create_future())
        if self.is_closed:
            wait.answer.cancel()
        else:
            self._waiting.setdefault(pipeline_id, set()).add(wait)
        return wait

    def forget(self, pipeline_id: str, wait: HeldRequest) -> None:
        """Unregister a request."""
        waits = self._waiting.get(pipeline_id, set())
        waits.discard(wait)
        if wait.answer.done() and not wait.answer.cancelled():
            wait.answer.exception()  # the request is gone: no warning
        if not waits:
            self._waiting.pop(pipeline_id, None)

    def _ring(self, pipeline_id: str) -> None:
        self.feed.ring()
        if pipeline_id not in self._waiting:
            return
        self._rung.add(pipeline_id)
        if pipeline_id not in self._looks:
            self._looks[pipeline_id] = asyncio.get_running_loop().create_task(self._look(pipeline_id))

    async def _look(self, pipeline_id: str) -> None:
        """Read the pipeline until it has not changed meanwhile."""
        try:
            while pipeline_id in self._rung and self._read is not None:
                self._rung.discard(pipeline_id)
                await self._look_once(pipeline_id, self._read)
        finally:
            self._looks.pop(pipeline_id, None)

    async def _look_once(self, pipeline_id: str, read: ReadAll) -> None:
        try:
            reading = await self.reads.read(pipeline_id, read)
        except Exception as error:  # noqa: BLE001 - each of the requests raises it, as if it had read by itself
            for wait in list(self._waiting.get(pipeline_id, ())):
                wait.give_up(error)
            return
        for wait in list(self._waiting.get(pipeline_id, ())):
            wait.look(reading)
