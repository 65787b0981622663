"""Post rows at least once: tasks stage an epoch's rows in segments, and the driver posts them.

    epoch 7 of table orders: rows a, b, c     POST a: 200     POST b: 503, retried: 200     POST c: 422
    bad_data = 'dead_letter': c is stored with "the answer is 422 ..."; the epoch is recorded with 2 rows, 1 refused

A row that is posted again, by a retry or after a crash, has the same `Idempotency-Key`: a hash of the lineage, the
sink, the epoch, and the row's position in it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pyarrow as pa

from engine.connectors.addresses import Reachable, check_url, shown_url
from engine.connectors.base import DeadLetter, Epoch, Table
from engine.connectors.refused_rows import keep_refused
from engine.connectors.staged import ArrowSegment, segment_rows, send_unless_sent
from engine.connectors.webhook.options import WebhookOptions, read_headers
from engine.delivery.segments import Segment, to_message
from engine.errors import RowRefusedError, TargetUnavailableError, message_of
from engine.formats import make_encoder

LOG = logging.getLogger(__name__)
# httpx logs each request with its whole URL, in which a key may stand
logging.getLogger("httpx").setLevel(logging.WARNING)
_STAGED = pa.schema([("body", pa.binary())])
_AT_ONCE = 2000
_LONGEST_WAIT = 60.0
_PROBE_SECONDS = 10.0
_AGAIN = frozenset({408, 425, 429})
Sleep = Callable[[float], Awaitable[None]]


class WebhookSink:
    """Posts the rows of an epoch."""

    def __init__(self, table: Table, options: WebhookOptions, directory: Path) -> None:
        self._table = table
        self._options = options
        self._directory = directory

    def open(self, epoch: Epoch, task: int) -> WebhookWriter:
        """Return a writer of one segment of bodies."""
        return WebhookWriter(self._table, ArrowSegment(self._directory, epoch, task, _STAGED))

    def commit(self, epoch: Epoch, messages: Sequence[bytes]) -> None:
        """Post the epoch, unless it was the last that was posted."""
        send_unless_sent(self._directory, epoch, messages, partial(self._post, epoch))

    def probe(self) -> None:
        """Connect, with a TLS handshake if encrypted, but send no request: a receiver may take any request for a
        row."""
        _knock(self._options.endpoint, check_url(self._options.endpoint, os.environ), _PROBE_SECONDS)

    def _post(self, epoch: Epoch, segments: Sequence[Segment]) -> int:
        poster = Poster(self._options, check_url(self._options.endpoint, os.environ))
        bodies = (body for segment in segments for body in _bodies(self._directory / segment.path))
        name = f"{epoch.lineage}/{self._table.name}/{epoch.number}"
        refused = asyncio.run(poster.post_all(name, bodies))
        if refused and self._table.bad_data == "fail":
            raise RowRefusedError(
                f"{shown_url(self._options.endpoint)} refuses {len(refused)} of the epoch's rows; {refused[0].origin}: "
                f"{refused[0].error}",
                hint="correct the receiver and start again, or leave such rows out with bad_data = 'drop' or "
                "'dead_letter'",
            )
        keep_refused(self._table, self._directory, epoch, refused)
        if refused:
            LOG.warning("%s has refused %d rows of epoch %d", self._table.name, len(refused), epoch.number)
        return len(refused)


@dataclass(frozen=True, slots=True)
class Poster:
    """Posts bodies, some in parallel, and retries each until it is accepted or refused."""

    options: WebhookOptions
    target: Reachable
    sleep: Sleep = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    transport: httpx.AsyncBaseTransport | None = None

    async def post_all(self, name: str, bodies: Iterator[bytes]) -> list[DeadLetter]:
        """Post all bodies of the epoch `name`; return those that were refused for good, in their order."""
        limits = httpx.Limits(max_connections=self.options.max_in_flight)
        headers = {"content-type": "application/json", **read_headers(self.options.headers.get_secret_value())}
        refused: list[tuple[int, DeadLetter]] = []
        numbered = zip(count(), bodies, strict=False)
        async with httpx.AsyncClient(
            timeout=self.options.timeout.total_seconds(),
            limits=limits,
            headers={**headers, "host": self.target.host},
            follow_redirects=False,
            trust_env=False,
            transport=self.transport,
        ) as client:

            async def work() -> None:
                for number, body in numbered:
                    wrong = await self._post(client, f"{name}/{number}", body)
                    if wrong is not None:
                        refused.append((number, DeadLetter(f"row {number} of {name}", wrong, body)))

            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(self.options.max_in_flight):
                        group.create_task(work())
            except ExceptionGroup as failed:
                raise failed.exceptions[0] from failed
        return [dead_letter for _, dead_letter in sorted(refused, key=lambda pair: pair[0])]

    async def _post(self, client: httpx.AsyncClient, name: str, body: bytes) -> str | None:
        """Post a body; return None if it was accepted, else why it was refused for good."""
        key = hashlib.sha256(name.encode()).hexdigest()[:32]
        end = self.clock() + self.options.retry_timeout.total_seconds()
        for attempt in count():
            wait = min(5.0, 0.1 * 2**attempt)
            try:
                answer = await client.post(
                    self.target.url,
                    content=body,
                    headers={"idempotency-key": key},
                    extensions={"sni_hostname": self.target.server_name},
                )
            except httpx.TransportError as wrong:
                reason = f"no answer: {type(wrong).__name__} {wrong}".rstrip()
            else:
                if answer.is_success:
                    return None
                reason = f"the answer is {answer.status_code} {answer.reason_phrase}: {answer.text[:200]}"
                if answer.status_code not in _AGAIN and answer.status_code < 500:
                    return reason
                wait = max(wait, _retry_after(answer))
            if self.clock() + wait > end:
                raise TargetUnavailableError(
                    f"{shown_url(self.options.endpoint)} does not accept rows; {reason}",
                    hint="check that it is up; the next start posts everything again, with the same Idempotency-Key",
                )
            await self.sleep(wait)
        raise AssertionError


def _knock(endpoint: str, target: Reachable, seconds: float) -> None:
    """Open a connection like a post, and close it."""
    parts = urlsplit(target.url)
    is_encrypted = parts.scheme == "https"
    try:
        with socket.create_connection((parts.hostname, parts.port or (443 if is_encrypted else 80)), seconds) as plain:
            if is_encrypted:
                httpx.create_ssl_context(trust_env=False).wrap_socket(plain, server_hostname=target.server_name).close()
    except OSError as wrong:
        raise TargetUnavailableError(
            f"{shown_url(endpoint)} cannot be connected to: {message_of(wrong)}",
            hint="check that it is up, and its certificate",
        ) from wrong


def _retry_after(answer: httpx.Response) -> float:
    text = answer.headers.get("retry-after", "")
    return min(float(text), _LONGEST_WAIT) if text.isdigit() else 0.0


class WebhookWriter:
    """Stages a task's rows as request bodies."""

    def __init__(self, table: Table, segment: ArrowSegment) -> None:
        assert table.format is not None
        self._encoder = make_encoder(table.format, table.schema)
        self._segment = segment

    def write(self, rows: pa.RecordBatch) -> None:
        """Stage some rows."""
        bodies = self._encoder.encode_messages(rows).cast(pa.binary())
        self._segment.write(pa.RecordBatch.from_arrays([bodies], schema=_STAGED))

    def close(self) -> bytes:
        """Finish the segment and name it."""
        return to_message([self._segment.close()])


def _bodies(path: Path) -> Iterator[bytes]:
    for rows in segment_rows(path, _AT_ONCE):
        yield from rows.column(0).to_pylist()
