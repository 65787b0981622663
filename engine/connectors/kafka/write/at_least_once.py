"""Write to Kafka at least once: tasks send records as they come, and wait for all acknowledgements at the end."""

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
from engine.connectors.kafka.write.failures import write_failure
from engine.connectors.kafka.write.options import KafkaSinkOptions
from engine.connectors.kafka.write.oversized import SizeLimit, size_limit_of
from engine.connectors.kafka.write.producer import ProducerSession, probe_topic, producer_config
from engine.connectors.kafka.write.records import RECORDS, RecordMaker
from engine.connectors.kafka.write.staging import LARGE, staged_records
from engine.connectors.staged import ArrowSegment
from engine.delivery.faults import Point, reach
from engine.delivery.file_ledger import permit_at_least_once
from engine.delivery.segments import drop_segments

FLUSH_SECONDS = 120.0


class AtLeastOnceSink:
    """A sink that sends an epoch again if the epoch is run again."""

    def __init__(self, table: Table, options: KafkaSinkOptions, directory: Path) -> None:
        self._table = table
        self._options = options
        self._directory = directory

    def open(self, epoch: Epoch, task: int) -> AtLeastOnceWriter:
        """Return a writer that sends immediately."""
        client = producer_config(self._options)
        maker = RecordMaker(self._table, self._options)
        size_limit = size_limit_of(self._table, client)
        with _errors_explained(self._options.topic):
            session = _session_for(tuple(sorted(client.items())))
        large = partial(ArrowSegment, self._directory, epoch, task, RECORDS, LARGE)
        return AtLeastOnceWriter(maker, size_limit, self._options.topic, session, epoch, large)

    def probe(self) -> None:
        """Raise if the topic cannot be reached."""
        probe_topic(self._options)

    def commit(self, epoch: Epoch, messages: Sequence[bytes]) -> None:
        """Record that the epoch was sent, so that it is not sent again if it was the last before a crash."""
        permit = permit_at_least_once(self._directory, epoch)
        if permit is not None:
            reports = [_TaskReport(**json.loads(message)) for message in messages]
            self._keep_oversized(
                epoch, [self._directory / report.large for report in reports if report.large is not None]
            )
            permit.record(sum(report.rows for report in reports), refused=sum(report.refused for report in reports))
        reach(Point.AFTER_LEDGER, epoch.number)
        drop_segments(self._directory, epoch)

    def _keep_oversized(self, epoch: Epoch, large: Sequence[Path]) -> None:
        size_limit = size_limit_of(self._table, producer_config(self._options))
        if size_limit is not None:
            size_limit.keep_oversized(
                self._directory, epoch, (records for path in large for records in staged_records(path))
            )


@dataclass(frozen=True, slots=True)
class _TaskReport:
    """Result of a task: rows sent, rows that are too large, and the segment with these."""

    rows: int
    refused: int = 0
    large: str | None = None


class AtLeastOnceWriter:
    """Sends the records of one task."""

    def __init__(
        self,
        maker: RecordMaker,
        size_limit: SizeLimit | None,
        topic: str,
        session: ProducerSession,
        epoch: Epoch,
        open_large: Callable[[], ArrowSegment],
    ) -> None:
        self._maker = maker
        self._size_limit = size_limit
        self._topic = topic
        self._epoch = epoch
        self._open_large = open_large
        self._large: ArrowSegment | None = None
        self._session = session
        self._rows = 0

    def write(self, rows: pa.RecordBatch) -> None:
        """Send some rows."""
        records = self._maker.make(rows)
        if self._size_limit is not None:
            records, oversized = self._size_limit.split(records)
            self._keep_oversized(oversized)
        with _errors_explained(self._topic):
            self._rows += self._session.send(self._topic, records)
        reach(Point.WHILE_WRITING, self._epoch.number)

    def close(self) -> bytes:
        """Wait until the broker has all rows, and describe what was sent."""
        deadline = time.monotonic() + FLUSH_SECONDS
        with _errors_explained(self._topic):
            while self._session.producer.flush(1):
                self._session.raise_failure()
                if time.monotonic() > deadline:
                    raise KafkaException(KafkaError(KafkaError._MSG_TIMED_OUT))  # noqa: SLF001 - so named
            self._session.raise_failure()
        report = _TaskReport(self._rows)
        if self._large is not None:
            segment = self._large.close()
            report = _TaskReport(self._rows, segment.rows, segment.path)
        return json.dumps(asdict(report)).encode()

    def _keep_oversized(self, oversized: pa.RecordBatch) -> None:
        if oversized.num_rows:
            self._large = self._large or self._open_large()
            self._large.write(oversized)


@contextmanager
def _errors_explained(topic: str) -> Iterator[None]:
    try:
        yield
    except KafkaException as wrong:
        _session_for.cache_clear()
        raise write_failure(wrong, topic) from wrong


@lru_cache(maxsize=4)
def _session_for(client: tuple[tuple[str, str | int | float | bool], ...]) -> ProducerSession:
    """Return one producer for all epochs of a worker process: a new one would have to connect first."""
    return ProducerSession(dict(client))
