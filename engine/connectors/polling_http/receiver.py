"""Request a URL at an interval, and receive the answers as messages.

GET                       200, {"n": 1}, ETag "a"    a message
GET, If-None-Match: "a"   304                        none
GET, If-None-Match: "a"   200, {"n": 1}, ETag "b"    none with emit_behavior = 'changed': the content is the same
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import httpx

from engine.connectors.addresses import Reachable, shown_url
from engine.connectors.http_reading import http_client, refuse_failure, sni
from engine.connectors.intake.log import Message
from engine.connectors.intake.receiver import Take
from engine.connectors.polling_http.options import PollingHttpOptions
from engine.connectors.webhook.options import read_headers
from engine.errors import SourceRefusedError

_MOST_BYTES = 16 * 1024 * 1024
"""Size of the largest answer."""
_UNCHANGED = 304


@dataclass(frozen=True, slots=True)
class PollingReceiver:
    """Polls one URL."""

    options: PollingHttpOptions
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    wall_clock: Callable[[], int] = time.time_ns

    async def receive(self, last: Mapping[str, str] | None, take: Take) -> None:
        """Poll until an answer is no content."""
        options = self.options
        headers = read_headers(options.headers.get_secret_value())
        before = last or {}
        timeout = httpx.Timeout(options.timeout.total_seconds())
        async with http_client(options.endpoint, headers, timeout) as (client, target):
            while True:
                begin = self.clock()
                message = await self._request(client, target, before)
                await take([] if message is None else [message])
                before = before if message is None else message.metadata
                await self.sleep(max(0.0, begin + options.poll_interval_ms / 1000 - self.clock()))

    async def _request(self, client: httpx.AsyncClient, target: Reachable, before: Mapping[str, str]) -> Message | None:
        """Request an answer; return None if it is to be left out because nothing has changed."""
        options = self.options
        only_changed = options.emit_behavior == "changed"
        condition = {"if-none-match": before["etag"]} if only_changed and "etag" in before else {}
        async with client.stream(
            options.method, target.url, content=options.body, headers=condition, extensions=sni(target)
        ) as answer:
            if only_changed and answer.status_code == _UNCHANGED:
                return None
            refuse_failure(options.endpoint, answer)
            content = await self._content(answer)
        digest = hashlib.sha256(content).hexdigest()[:32]
        if only_changed and before.get("digest") == digest:
            return None
        etag = answer.headers.get("etag")
        metadata = {"status": str(answer.status_code), "digest": digest, **({} if etag is None else {"etag": etag})}
        return Message(content, metadata, self.wall_clock() // 1000)

    async def _content(self, answer: httpx.Response) -> bytes:
        parts: list[bytes] = []
        size = 0
        async for part in answer.aiter_bytes():
            size += len(part)
            if size > _MOST_BYTES:
                raise SourceRefusedError(
                    f"{shown_url(self.options.endpoint)} answers with more than {_MOST_BYTES // 2**20} MiB",
                    hint="request less at a time",
                )
            parts.append(part)
        return b"".join(parts)
