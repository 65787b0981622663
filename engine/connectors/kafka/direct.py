"""Writing to Kafka, at least once: tasks send their records while they come, and wait for all of them at the end."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException

from engine.connectors.base import Epoch, Table
from engine.connectors.kafka.client import ClientConfig
from engine.connectors.kafka.large import Sieve, sieve_of
from engine.connectors.kafka.produce import Line, producer_config
from engine.connectors.kafka.records import RecordMaker
from engine.connectors.kafka.sink_options import KafkaSinkOptions
from engine.connectors.kafka.trouble import trouble
from engine.delivery.faults import Point, reach
from engine.delivery.gate import admit_unless_taken

FLUSH_SECONDS = 120.0


class DirectSink:
    """Sends an epoch that is run again a second time."""

    def __init__(self, table: Table, options: KafkaSinkOptions, directory: Path) -> None:
        self._table = table
        self._options = options
        self._directory = directory

    def open(self, epoch: Epoch, task: int) -> DirectWriter:
        """A writer that sends."""
        client = producer_config(self._options)
        maker = RecordMaker(self._table, self._options)
        return DirectWriter(maker, sieve_of(self._table, client), self._options.topic, client, epoch, task)

    def commit(self, epoch: Epoch, messages: Sequence[bytes]) -> None:
        """Note that the epoch was sent, so that it is not sent again if it was the last before a crash."""
        admission = admit_unless_taken(self._directory, epoch)
        if admission is not None:
            sent = [json.loads(message) for message in messages]
            admission.record(sum(rows for rows, _ in sent), refused=sum(large for _, large in sent))
        reach(Point.AFTER_LEDGER, epoch.number)


class DirectWriter:
    """Sends the records of one task."""

    def __init__(
        self, maker: RecordMaker, sieve: Sieve | None, topic: str, client: ClientConfig, epoch: Epoch, task: int
    ) -> None:
        self._maker = maker
        self._sieve = sieve
        self._topic = topic
        self._epoch = epoch
        self._task = task
        self._large: list[pa.RecordBatch] = []
        self._line = _line_of(tuple(sorted(client.items())))
        self._rows = 0

    def write(self, rows: pa.RecordBatch) -> None:
        """Send some rows."""
        records = self._maker.make(rows)
        if self._sieve is not None:
            records, large = self._sieve.part(records)
            self._large += [large] if large.num_rows else []
        with self._giving_up():
            self._rows += self._line.send(self._topic, records)
        reach(Point.WHILE_WRITING, self._epoch.number)

    def close(self) -> bytes:
        """Wait until the broker has all of them; how many were sent, and how many were not."""
        deadline = time.monotonic() + FLUSH_SECONDS
        with self._giving_up():
            while self._line.producer.flush(1):
                self._line.look()
                if time.monotonic() > deadline:
                    raise KafkaException(KafkaError(KafkaError._MSG_TIMED_OUT))  # noqa: SLF001 - so named
            self._line.look()
        if self._sieve is not None:
            self._sieve.put_aside((self._epoch.lineage, self._epoch.number, self._task), self._large)
        return json.dumps([self._rows, sum(batch.num_rows for batch in self._large)]).encode()

    @contextmanager
    def _giving_up(self) -> Iterator[None]:
        try:
            yield
        except KafkaException as wrong:
            _line_of.cache_clear()
            raise trouble(wrong, self._topic) from wrong


@lru_cache(maxsize=4)
def _line_of(client: tuple[tuple[str, str | int | float | bool], ...]) -> Line:
    """One producer for all epochs of a worker process: a new one would have to connect first."""
    return Line(dict(client))
