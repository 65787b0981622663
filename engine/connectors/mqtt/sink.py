"""Write to MQTT at least once: tasks stage an epoch's rows as messages, and the driver publishes them.

An epoch is recorded once the broker has answered all its messages. With QoS 0 a broker answers nothing.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

import pyarrow as pa

from engine.connectors.base import Epoch, Table
from engine.connectors.mqtt.client import Connection, connection
from engine.connectors.mqtt.options import LEVELS, MqttSinkOptions
from engine.connectors.staged import ArrowSegment, segment_rows, send_unless_sent
from engine.delivery.segments import Segment, to_message
from engine.errors import (
    SourceRefusedError,
    SourceUnavailableError,
    TargetRefusedError,
    TargetUnavailableError,
)
from engine.formats import make_encoder

_STAGED = pa.schema([("payload", pa.binary())])
_AT_ONCE = 2000
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 10.0


class MqttSink:
    """Publishes the rows of an epoch."""

    def __init__(
        self,
        table: Table,
        options: MqttSinkOptions,
        directory: Path,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._table = table
        self._options = options
        self._directory = directory
        self._sleep = sleep
        self._clock = clock

    def open(self, epoch: Epoch, task: int) -> MqttWriter:
        """Return a writer of one segment of messages."""
        return MqttWriter(self._table, ArrowSegment(self._directory, epoch, task, _STAGED))

    def commit(self, epoch: Epoch, messages: Sequence[bytes]) -> None:
        """Publish the epoch, unless it was the last that was published."""
        send_unless_sent(self._directory, epoch, messages, self._send)

    def probe(self) -> None:
        """Raise if the broker does not let the client in. Publishes nothing."""
        _run(partial(_publish, self._options, iter(())))

    def _send(self, segments: Sequence[Segment]) -> int:
        """Publish all rows; from the first again while the broker does not answer."""
        end = self._clock() + self._options.retry_timeout.total_seconds()
        pause = _FIRST_PAUSE
        while True:
            payloads = chain.from_iterable(_payloads(self._directory / segment.path) for segment in segments)
            try:
                _run(partial(_publish, self._options, payloads))
            except TargetUnavailableError:
                if self._clock() + pause > end:
                    raise
                self._sleep(pause)
                pause = min(_LONGEST_PAUSE, pause * 2)
            else:
                return 0


def _run(publish: Callable[[], object]) -> None:
    """Run a coroutine; errors of a source become those of a target."""
    try:
        asyncio.run(publish())  # type: ignore[arg-type]  # a partial of a coroutine function
    except SourceRefusedError as wrong:
        raise TargetRefusedError(wrong.message, hint=wrong.hint) from wrong
    except SourceUnavailableError as wrong:
        raise TargetUnavailableError(wrong.message, hint=wrong.hint) from wrong


async def _publish(options: MqttSinkOptions, payloads: Iterator[bytes]) -> None:
    """Publish all payloads, and wait for the answers of the broker."""
    async with connection(options, f"{options.client_prefix}-{secrets.token_hex(8)}") as opened:
        sent = 0
        for payload in payloads:
            opened.client.publish(options.topic, payload, LEVELS[options.qos], retain=options.retain)
            sent += 1
            if sent % 256 == 0 or sent - opened.answers >= opened.in_flight:
                await opened.pump(0)
            while sent - opened.answers >= opened.in_flight:
                await opened.pump()
                _refuse(opened, options)
        while opened.answers < sent or opened.client.want_write():
            await opened.pump()
            _refuse(opened, options)


def _refuse(opened: Connection, options: MqttSinkOptions) -> None:
    if (reason := opened.refused()) is not None:
        raise TargetRefusedError(
            f"{opened.shown} refuses messages of the topic {options.topic!r}: {reason}",
            hint="check the topic, and what the user may write",
        )


class MqttWriter:
    """Stages a task's rows as messages."""

    def __init__(self, table: Table, segment: ArrowSegment) -> None:
        assert table.format is not None
        self._encoder = make_encoder(table.format, table.schema)
        self._segment = segment

    def write(self, rows: pa.RecordBatch) -> None:
        """Stage some rows."""
        payloads = self._encoder.encode_messages(rows).cast(pa.binary())
        self._segment.write(pa.RecordBatch.from_arrays([payloads], schema=_STAGED))

    def close(self) -> bytes:
        """Finish the segment and name it."""
        return to_message([self._segment.close()])


def _payloads(path: Path) -> Iterator[bytes]:
    for rows in segment_rows(path, _AT_ONCE):
        yield from rows.column(0).to_pylist()
