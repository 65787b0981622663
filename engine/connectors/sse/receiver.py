"""Receive server-sent events.

After a lost connection, the request has the `Last-Event-ID` of the newest durable event, so a server that stores events
sends the ones after it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import httpx

from engine.connectors.addresses import shown_url
from engine.connectors.http_reading import http_client, refuse_failure, sni
from engine.connectors.intake.log import Message
from engine.connectors.intake.receiver import Take
from engine.connectors.sse.events import Event, EventParser, TooLongError
from engine.connectors.sse.options import SseOptions
from engine.connectors.webhook.options import read_headers
from engine.errors import SourceRefusedError

_MOST_BYTES = 16 * 1024 * 1024
"""Size of the largest event."""
_CONNECT_SECONDS = 30.0
_NO_CONTENT = 204


@dataclass(frozen=True, slots=True)
class SseReceiver:
    """Receives the events of one URL."""

    options: SseOptions
    wall_clock: Callable[[], int] = time.time_ns

    async def receive(self, last: Mapping[str, str] | None, take: Take) -> None:
        """Receive events until the connection ends."""
        options = self.options
        last_id = None if last is None else last.get("id")
        headers = {"accept": "text/event-stream", "cache-control": "no-store"}
        headers |= {} if last_id is None else {"last-event-id": last_id}
        headers |= read_headers(options.headers.get_secret_value())
        timeout = httpx.Timeout(_CONNECT_SECONDS, read=options.silence.total_seconds())
        parser = EventParser(_MOST_BYTES, last_id)
        async with (
            http_client(options.endpoint, headers, timeout) as (client, target),
            client.stream("GET", target.url, extensions=sni(target)) as answer,
        ):
            self._check(answer)
            await take([])
            async for block in answer.aiter_bytes():
                try:
                    events = list(parser.feed(block))
                except TooLongError:
                    raise SourceRefusedError(
                        f"{shown_url(options.endpoint)} sends an event of more than {_MOST_BYTES // 2**20} MiB",
                        hint="leave such events out where they are made",
                    ) from None
                await take([self._message(event) for event in events if self._is_read(event)])

    def _check(self, answer: httpx.Response) -> None:
        refuse_failure(self.options.endpoint, answer)
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if answer.status_code == _NO_CONTENT or kind != "text/event-stream":
            raise SourceRefusedError(
                f"{shown_url(self.options.endpoint)} answers {answer.status_code} with {kind or 'no content type'}, "
                "not with text/event-stream",
                hint="check the URL and the headers",
            )

    def _is_read(self, event: Event) -> bool:
        kinds = self.options.kinds
        return kinds is None or event.kind in kinds

    def _message(self, event: Event) -> Message:
        metadata = {"event": event.kind, **({} if event.id is None else {"id": event.id})}
        return Message(event.data, metadata, self.wall_clock() // 1000)
