"""One event stream per control plane and process, shared by all waiting tasks.

500 waiting tasks, 20 pipelines        one stream, and up to four connections for polling
an event of clicks                     wakes those of its 25 waiting tasks to which it may be relevant
the stream breaks                      all tasks poll at their usual interval until it is connected again
it reconnects at its last cursor       wakes the tasks whose pipelines have changed meanwhile
404 from an earlier control plane      each task sends held requests, as without streams

Decide whether an event may be relevant to a waiting task. If unsure, it is.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Self, TypeVar
from weakref import WeakKeyDictionary

import httpx

from airflow_provider_arroyo.conditions import UntilFresh, UntilWatermark, UntilWatermarks, Wait
from airflow_provider_arroyo.connection_mistakes import unanswered
from airflow_provider_arroyo.control_plane import answer, request
from airflow_provider_arroyo.endpoint import Endpoint
from airflow_provider_arroyo.protocols import Backoff, Clock, utc_now
from airflow_provider_arroyo.requests import ApiCall
from airflow_provider_arroyo.responses import to_micros

T = TypeVar("T")
LOG = logging.getLogger(__name__)

_PATIENCE = timedelta(seconds=60)
"""Longest time without polling for a task whose condition the stream reports."""
_PATIENCE_WITH_CLOCKS = timedelta(seconds=30)
"""Longest time without polling for a condition that can become true by the clock alone, such as a complete time
bucket."""
_LOOKS_AT_ONCE = 4
_FIRST_ANSWER = 10.0
_SILENCE = 45.0
"""Timeout of the stream. The control plane sends something every 15 seconds."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Polling interval of a task without a stream, and its deadline."""

    poll: timedelta
    deadline: datetime | None = None


@dataclass(slots=True, eq=False)
class Watcher:
    """A waiting task, and whether an event has arrived since its last poll."""

    wait: Wait
    rung: asyncio.Event = field(default_factory=asyncio.Event)


class ChangeStream:
    """The event stream of one control plane in one process. It is open while a task waits."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.client = endpoint.opened(httpx.AsyncClient, limits=httpx.Limits(max_connections=_LOOKS_AT_ONCE))
        # the stream does not queue behind the looks of all when the control plane is back
        self._stream_client = endpoint.opened(httpx.AsyncClient, limits=httpx.Limits(max_connections=1))
        self.is_live = False
        self.answered = asyncio.Event()
        """Whether it is known if there is a stream."""
        self._watchers: set[Watcher] = set()
        self._cursor: str | None = None
        self._task: asyncio.Task[None] | None = None

    def join(self, watcher: Watcher) -> None:
        """Add a wait that is notified of changes."""
        self._watchers.add(watcher)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._follow())

    def leave(self, watcher: Watcher) -> bool:
        """Remove a wait; return whether none is left."""
        self._watchers.discard(watcher)
        return not self._watchers

    async def close(self) -> None:
        """Stop reading."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self.client.aclose()
        await self._stream_client.aclose()

    async def _follow(self) -> None:
        """Read the stream repeatedly, until the control plane turns out to have none."""
        backoff, failures = Backoff(), 0
        while True:
            try:
                if not await self._read():
                    return
                failures = 0
            except httpx.HTTPError as error:
                failures += 1
                LOG.info("the stream of changes has broken: %s: %s", type(error).__name__, error)
            finally:
                self._lose()
            await asyncio.sleep(backoff.pause(max(1, failures)).length.total_seconds())

    async def _read(self) -> bool:
        """Read until the stream ends; return False if this control plane has none."""
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": self._cursor} if self._cursor else {})
        timeout = httpx.Timeout(_SILENCE, connect=10)
        async with self._stream_client.stream("GET", "changes/stream", headers=headers, timeout=timeout) as response:
            if response.status_code in {404, 405, 422}:
                return False
            response.raise_for_status()
            fields: dict[str, str] = {}
            async for line in response.aiter_lines():
                if line:
                    name, _, value = line.partition(":")
                    fields[name] = value.strip()
                else:
                    self._take(fields)
                    fields = {}
        return True

    def _take(self, event: dict[str, str]) -> None:
        match event.get("event"):
            case "ready":
                self.is_live = True
                self.answered.set()
            case "reset":
                self._ring_all()
            case "change":
                change = json.loads(event["data"])
                for watcher in self._watchers:
                    if concerns(watcher.wait, change) and may_end(watcher.wait, change):
                        watcher.rung.set()
        self._cursor = event.get("id") or self._cursor

    def _lose(self) -> None:
        self.is_live = False
        self.answered.set()
        self._ring_all()

    def _ring_all(self) -> None:
        for watcher in self._watchers:
            watcher.rung.set()


_STREAMS: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Endpoint, ChangeStream]] = WeakKeyDictionary()


class SharedConnection:
    """Connection of one waiting task: it sends over the process's connections, and pauses until an event."""

    def __init__(
        self,
        find_endpoint: Callable[[], Awaitable[Endpoint]],
        wait: Wait,
        limits: Limits,
        sleep: Callable[[timedelta], Awaitable[None]],
        requested_by: str | None = None,
    ) -> None:
        self._requested_by = requested_by
        self._limits = limits
        self._by_clock = wait.kind in {"lag", "proven"}
        self._patience = _PATIENCE_WITH_CLOCKS if wait.kind == "partition" else _PATIENCE
        self._find_endpoint = find_endpoint
        self._sleep = sleep
        self._watcher = Watcher(wait)
        self._endpoint: Endpoint | None = None
        self._stream: ChangeStream | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._leave()

    async def has_stream(self) -> bool:
        """Whether the control plane has a stream of changes; it is asked once for all waits."""
        _, stream = await self._join()
        with suppress(TimeoutError):
            async with asyncio.timeout(_FIRST_ANSWER):  # wait_for of Python 3.11 may swallow that it is cancelled
                await stream.answered.wait()
        return stream.is_live

    async def send(self, call: ApiCall[T]) -> T:
        """Send a request and wait for the answer. After a failure the address is looked up again."""
        endpoint, stream = await self._join()
        try:
            response = await stream.client.request(**request(call, requested_by=self._requested_by))
        except httpx.TransportError as error:
            await self._leave()
            raise await asyncio.to_thread(unanswered, call, endpoint, error) from error
        return answer(call, response, endpoint)

    async def pause(self, length: timedelta) -> None:
        """Wait until something happens that may concern this wait; without a stream, for that long."""
        if self._stream is None or not self._stream.is_live:
            await self._sleep(length)
        else:
            patience = self._patience if length == self._limits.poll and not self._by_clock else length
            if self._limits.deadline is not None:
                patience = max(timedelta(0), min(patience, self._limits.deadline - utc_now()))
            with suppress(TimeoutError):
                async with asyncio.timeout(patience.total_seconds()):
                    await self._watcher.rung.wait()
        self._watcher.rung.clear()

    async def _join(self) -> tuple[Endpoint, ChangeStream]:
        if self._endpoint is None or self._stream is None:
            endpoint = await self._find_endpoint()
            streams = _STREAMS.setdefault(asyncio.get_running_loop(), {})
            if endpoint not in streams:
                streams[endpoint] = ChangeStream(endpoint)
            self._endpoint, self._stream = endpoint, streams[endpoint]
            self._stream.join(self._watcher)
        return self._endpoint, self._stream

    async def _leave(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None and stream.leave(self._watcher):
            streams: dict[Any, ChangeStream] = _STREAMS.get(asyncio.get_running_loop(), {})
            streams.pop(self._endpoint, None)
            await asyncio.shield(stream.close())  # who waits may be ended a second time meanwhile


def concerns(wait: Wait, change: Mapping[str, Any]) -> bool:
    """Whether the changed pipeline is one of those in the wait."""
    waited_for = {gate.pipeline for gate in wait.gates} if isinstance(wait, UntilWatermarks) else {wait.pipeline}
    return not waited_for.isdisjoint((change["pipeline"], change["pipeline_id"]))


def may_end(wait: Wait, change: Mapping[str, Any], now: Clock = lambda: datetime.now(UTC)) -> bool:
    """Whether a wait may be over. False only for a job that continues and whose output is known not to have reached a
    gate."""
    job = change.get("job")
    match wait:
        case UntilWatermarks(gates):
            return any(may_end(gate, change, now) for gate in gates if concerns(gate, change))
        case UntilWatermark(past=past):
            pass
        case UntilFresh(at_most=at_most):
            past = now() - at_most
        case _:
            return True
    if job is None or job["state"] != "Running" or not job["settled"]:
        return True
    sinks = [sink for name, sink in job["sinks"].items() if wait.table in (None, name)]
    name = "complete_until" if wait.by == "input" else "output_until"
    reached = [sink[name] for sink in sinks if sink["unknown"] is None or wait.by == "output"]
    if not sinks or len(reached) < len(sinks):
        return True
    return all(until is not None and until >= to_micros(past) for until in reached)
