"""Writing to Kafka, at least once: tasks send their records while they come, and wait for all of them at the end."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException

from engine.connectors.base import Epoch, Table
from engine.connectors.kafka.write.failures import trouble
from engine.connectors.kafka.write.options import KafkaSinkOptions
from engine.connectors.kafka.write.oversized import Sieve, sieve_of
from engine.connectors.kafka.write.producer import Line, producer_config
from engine.connectors.kafka.write.records import RECORDS, RecordMaker
from engine.connectors.kafka.write.staging import LARGE, staged_records
from engine.connectors.staged import StagedSegment
from engine.delivery.faults import Point, reach
from engine.delivery.file_ledger import permit_at_least_once
from engine.delivery.segments import drop_segments

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
        sieve = sieve_of(self._table, client)
        with _giving_up(self._options.topic):
            line = _line_of(tuple(sorted(client.items())))
        large = partial(StagedSegment, self._directory, epoch, task, RECORDS, LARGE)
        return DirectWriter(maker, sieve, self._options.topic, line, epoch, large)

    def commit(self, epoch: Epoch, messages: Sequence[bytes]) -> None:
        """Note that the epoch was sent, so that it is not sent again if it was the last before a crash."""
        permit = permit_at_least_once(self._directory, epoch)
        if permit is not None:
            sent = [_Sent(**json.loads(message)) for message in messages]
            self._put_aside(epoch, [self._directory / one.large for one in sent if one.large is not None])
            permit.record(sum(one.rows for one in sent), refused=sum(one.refused for one in sent))
        reach(Point.AFTER_LEDGER, epoch.number)
        drop_segments(self._directory, epoch)

    def _put_aside(self, epoch: Epoch, large: Sequence[Path]) -> None:
        sieve = sieve_of(self._table, producer_config(self._options))
        if sieve is not None:
            sieve.put_aside(self._directory, epoch, (records for path in large for records in staged_records(path)))


@dataclass(frozen=True, slots=True)
class _Sent:
    """What a task has done: the rows that it has sent, those that are too large, and the segment that has them."""

    rows: int
    refused: int = 0
    large: str | None = None


class DirectWriter:
    """Sends the records of one task."""

    def __init__(
        self,
        maker: RecordMaker,
        sieve: Sieve | None,
        topic: str,
        line: Line,
        epoch: Epoch,
        open_large: Callable[[], StagedSegment],
    ) -> None:
        self._maker = maker
        self._sieve = sieve
        self._topic = topic
        self._epoch = epoch
        self._open_large = open_large
        self._large: StagedSegment | None = None
        self._line = line
        self._rows = 0

    def write(self, rows: pa.RecordBatch) -> None:
        """Send some rows."""
        records = self._maker.make(rows)
        if self._sieve is not None:
            records, large = self._sieve.part(records)
            self._put_aside(large)
        with _giving_up(self._topic):
            self._rows += self._line.send(self._topic, records)
        reach(Point.WHILE_WRITING, self._epoch.number)

    def close(self) -> bytes:
        """Wait until the broker has all of them, and say what was sent."""
        deadline = time.monotonic() + FLUSH_SECONDS
        with _giving_up(self._topic):
            while self._line.producer.flush(1):
                self._line.look()
                if time.monotonic() > deadline:
                    raise KafkaException(KafkaError(KafkaError._MSG_TIMED_OUT))  # noqa: SLF001 - so named
            self._line.look()
        sent = _Sent(self._rows)
        if self._large is not None:
            segment = self._large.close()
            sent = _Sent(self._rows, segment.rows, segment.path)
        return json.dumps(asdict(sent)).encode()

    def _put_aside(self, large: pa.RecordBatch) -> None:
        if large.num_rows:
            self._large = self._large or self._open_large()
            self._large.write(large)


@contextmanager
def _giving_up(topic: str) -> Iterator[None]:
    try:
        yield
    except KafkaException as wrong:
        _line_of.cache_clear()
        raise trouble(wrong, topic) from wrong


@lru_cache(maxsize=4)
def _line_of(client: tuple[tuple[str, str | int | float | bool], ...]) -> Line:
    """One producer for all epochs of a worker process: a new one would have to connect first."""
    return Line(dict(client))
