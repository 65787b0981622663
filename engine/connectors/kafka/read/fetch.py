"""Read a range of offsets, over a connection that a worker process keeps.

read(orders/0, 100 to 200)    records 100 to 194, then none: 195 to 199 were aborted; the client is at 200
read(orders/0, 200 to 300)    begins at the end of the previous range, so it uses records that were prefetched
read(orders/0, 500 to 600)    begins elsewhere: the partition is assigned again
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from engine.connectors.kafka.client import client_config, errors_explained, explain
from engine.connectors.kafka.read.options import KafkaSourceOptions
from engine.connectors.kafka.read.records import Messages
from engine.errors import EngineError, RecordsLostError, SourceUnavailableError

_AT_ONCE = 4_096
"""Number of records that are decoded together: as many as fit into the processor's cache."""
_TABLES = 4
"""Number of tables with an open connection in a worker."""
_POLL_SECONDS = 1.0
_TUNING = {
    # a request that waits at the broker holds up the next assignment, and the news that a partition is at its end
    "fetch.wait.max.ms": 20,
    # more would be fetched in vain when the next range is another worker's
    "queued.min.messages": 20_000,
    # for how long the client rests once it has so many; a second, which is its own choice, is a fetch every second
    "fetch.queue.backoff.ms": 2,
}
"""Client options that suit reading ranges; `client_configs` overrides them."""


@dataclass(slots=True)
class RecordReader:
    """Reads ranges one after the other. A range that begins where the previous one ended uses the prefetched records:
    `resumes_at` is that position, and `ahead` are records after it that the client has already returned."""

    options: KafkaSourceOptions
    consumer: Consumer
    client_errors: list[KafkaError]
    resumes_at: tuple[str, int, int] | None = None
    ahead: list[Message] = field(default_factory=list)

    def read(self, topic: str, partition: int, start: int, end: int) -> Iterator[Messages]:
        """Yield the records from offset `start` up to `end`. There may be none: aborted records are skipped, and then
        only the client's position shows that the range is complete."""
        self._assign(topic, partition, start)
        at, lost, batch = start, 0, list[Message]()
        deadline = time.monotonic() + self.patience
        while at < end:
            records, events = _parted(self._next_messages(min(end - at, _AT_ONCE)))
            batch += self._up_to(end, records)
            progress = self._progress(topic, partition, _behind(records, at), end, events)
            lost += progress.lost
            if progress.at > at:
                deadline = time.monotonic() + self.patience
            at = progress.at
            if at < end and time.monotonic() > deadline:
                raise self._silence(topic, partition, at)
            if len(batch) >= _AT_ONCE:
                yield Messages(topic, partition, batch, lost)
                batch, lost = [], 0
        if batch or lost:
            yield Messages(topic, partition, batch, lost)
        self._settle(topic, partition, end)

    @property
    def patience(self) -> float:
        """Return how many seconds a broker may send nothing."""
        return self.options.broker_timeout.total_seconds()

    def _assign(self, topic: str, partition: int, start: int) -> None:
        """Let the next record be the one at `start`."""
        if self.resumes_at != (topic, partition, start):
            self.ahead = []
            with errors_explained(self.options, SourceUnavailableError):
                self.consumer.assign([TopicPartition(topic, partition, start)])
        self.resumes_at = None
        self.client_errors.clear()

    def _settle(self, topic: str, partition: int, end: int) -> None:
        """Keep the assignment while it has buffered records. At the end of the partition release it, so that the
        brokers get no requests while nothing is to be read."""
        _, last = self.consumer.get_watermark_offsets(TopicPartition(topic, partition), cached=True)
        if self.ahead or last > end:
            self.resumes_at = (topic, partition, end)
        else:
            self.consumer.unassign()

    def _next_messages(self, most: int) -> list[Message]:
        """Return the messages that have already arrived, or else wait for the next ones."""
        if self.ahead:
            messages, self.ahead = self.ahead, []
            return messages
        with errors_explained(self.options, SourceUnavailableError):
            return self.consumer.consume(most, 0) or self.consumer.consume(1, _POLL_SECONDS)

    def _up_to(self, end: int, records: list[Message]) -> list[Message]:
        """Return the records of the range; the ones after it are buffered for the next range."""
        cut = bisect_left(records, end, key=_offset)
        self.ahead = records[cut:]
        return records[:cut]

    def _progress(self, topic: str, partition: int, at: int, end: int, events: list[Message]) -> _Progress:
        lost = 0
        for event in events:
            error = event.error()
            assert error is not None
            match error.code():
                case KafkaError._PARTITION_EOF:  # noqa: SLF001 - the client's name for it
                    at = max(at, event.offset() or 0)
                case KafkaError._AUTO_OFFSET_RESET:  # noqa: SLF001 - as above
                    first = self._first_offset(topic, partition, at, end)
                    lost, at = lost + first - at, first
                    self._assign(topic, partition, first)
                case _:
                    self.client_errors.append(error)
        return _Progress(at, lost)

    def _first_offset(self, topic: str, partition: int, at: int, end: int) -> int:
        """Return the first offset of a range that the partition still has, or the end of the range."""
        with errors_explained(self.options, SourceUnavailableError):
            first, _ = self.consumer.get_watermark_offsets(TopicPartition(topic, partition), self.patience)
        if self.options.on_data_loss == "fail":
            raise RecordsLostError(
                f"partition {partition} of topic {topic!r} begins at offset {first}, and is read from {at} to {end}",
                hint="set on_data_loss = 'continue' to continue with the records that exist",
            )
        return min(first, end) if first > at else end

    def _silence(self, topic: str, partition: int, at: int) -> EngineError:
        if self.client_errors:
            return explain(self.options, self.client_errors[-1], SourceUnavailableError)
        return SourceUnavailableError(
            f"Kafka at {self.options.bootstrap_servers} has not given offset {at} of partition {partition} of topic "
            f"{topic!r} for {self.patience:.0f} seconds",
            hint="check that the broker that leads this partition is up",
        )


@dataclass(frozen=True, slots=True)
class _Progress:
    at: int
    lost: int


@lru_cache(maxsize=_TABLES)
def reader_of(options: KafkaSourceOptions, group: str) -> RecordReader:
    """Return the reader of a table in this process."""
    client_errors: list[KafkaError] = []
    config = client_config(
        options,
        group_id=group,
        isolation_level=options.read_mode,
        enable_auto_commit=False,
        enable_auto_offset_store=False,
        enable_partition_eof=True,
        auto_offset_reset="error",
    )
    with errors_explained(options, SourceUnavailableError):
        consumer = Consumer({**_TUNING, **config, "error_cb": client_errors.append})
    return RecordReader(options, consumer, client_errors)


def _offset(message: Message) -> int:
    return message.offset() or 0


def _behind(records: list[Message], at: int) -> int:
    """Return the offset after the records, which begin at `at` or later."""
    return _offset(records[-1]) + 1 if records else at


def _parted(messages: list[Message]) -> tuple[list[Message], list[Message]]:
    """Return the records, and the other messages of the client."""
    events = [message for message in messages if message.error() is not None]
    return ([message for message in messages if message.error() is None] if events else messages), events
